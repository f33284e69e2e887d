"""Make the virtual environment of a rival: one command each, apart from ours and from each other.

    python benchmarks/rivals/install.py NAME [NAME …]

NAME is an environment of rivals.toml, or `all`. If pip fails, the end of its complaint is kept beside the environment,
so `sfumato bench` can say why the rival is missing.
"""

import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def install(name: str, requirements: list[str], folder: Path) -> bool:
    """Make one environment; says whether it worked."""
    target, complaint = folder / name, folder / f"{name}.failed"
    complaint.unlink(missing_ok=True)
    venv.create(target, clear=True, with_pip=True)
    for requirement in requirements:  # one after the other: a local build of a heavy part is kept by what needs it
        command = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            complaint.write_text(f"pip install {requirement}: {lines[-1] if lines else 'failed'}\n")
            shutil.rmtree(target)
            print(complaint.read_text(), end="", file=sys.stderr)
            return False
    (target / "installed").touch()  # an environment without this is not complete
    print(f"{name}: installed in {target}")
    return True


def main() -> None:
    """Install what is named on the command line."""
    table = tomllib.loads((HERE / "rivals.toml").read_text(encoding="utf-8"))
    environments, folder = table["environments"], (HERE / table["folder"]).resolve()
    names = list(environments) if sys.argv[1:] == ["all"] else sys.argv[1:]
    if not names or not set(names) <= set(environments):
        sys.exit(f"give the names of environments, or all; they are {', '.join(environments)}")
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n")  # nothing of a rival becomes part of this repository
    done = [install(name, environments[name], folder) for name in names]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
