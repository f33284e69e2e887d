"""Break the code in every way that is written down in mutants.toml, and see that the tests notice: `make mutants`.

Each mutant is one change to one file, and the tests that must fail because of it. A mutant that survives, and one whose
text is no longer found, is a failure: the list has to follow the code.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "docs", "benchmarks", "reproductions", "pyproject.toml")


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def problem(self) -> str | None:
        """Why this mutant cannot be made."""
        found = (ROOT / self.file).read_text(encoding="utf-8").count(self.old)
        if found != 1:
            return f"its text is found {found} times in {self.file}, not once: update the list"
        if self.old == self.new:
            return "it changes nothing"
        missing = [test for test in self.tests if not (ROOT / test.split("::")[0]).exists()]
        return f"{missing} do not exist" if missing or not self.tests else None


def read_list() -> list[Mutant]:
    record = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(**{**one, "tests": tuple(one["tests"])}) for one in record["mutant"]]


def run_tests(copy: Path, tests: list[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]


def verdict(mutant: Mutant | None, tests: list[str]) -> tuple[int, str]:
    """Run tests on a copy of the code, with a mutant in it."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name)  # compiled files too: they still fit, but for the changed one
            else:
                shutil.copy(source, copy / name)
        if mutant is not None:
            file = copy / mutant.file
            file.write_text(file.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
        return run_tests(copy, tests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only mutants whose name has this text")
    arguments = parser.parse_args()
    mutants = [one for one in read_list() if arguments.only in one.name]
    broken = {one.name: problem for one in mutants if (problem := one.problem())}
    for name, problem in broken.items():
        print(f"BROKEN    {name}: {problem}")
    if broken:
        return 1
    code, output = verdict(None, sorted({test for one in mutants for test in one.tests}))
    if code:
        print(f"the tests fail without any mutant:\n{output}")
        return 1
    survived = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = pool.map(lambda one: verdict(one, list(one.tests)), mutants)
        for mutant, (code, output) in zip(mutants, verdicts, strict=True):
            # 1: a test failed; below 0: the mutant took the process down with it. Anything else is no verdict.
            killed = code == 1 or code < 0
            survived += not killed
            print(f"{'killed' if killed else 'SURVIVED' if code == 0 else f'EXIT {code}':9} {mutant.name}", flush=True)
            if not killed:
                print(output)
    print(f"{len(mutants)} mutants, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
