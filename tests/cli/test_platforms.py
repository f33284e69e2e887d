"""The command line where there are no POSIX modules: it is imported, lists its methods, and runs the demonstration."""

import json
import subprocess
import sys

WITHOUT = """
import json, os, sys

for name in ("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None  # an import of it fails
for name in ("fork", "forkpty", "register_at_fork", "wait4", "killpg", "getuid", "mkfifo", "O_NOFOLLOW", "O_NONBLOCK"):
    delattr(os, name)
# What the standard library goes by where it chooses between ways: shutil then removes folders as it does on Windows.
for found in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
    found.clear()
assert "shutil" not in sys.modules

from sfumato.cli import main

for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        if end.code != EXPECTED:
            sys.exit(f"{command} ended with {end.code}")
"""


def run(*commands, code=0):
    script = WITHOUT.replace("EXPECTED", str(code))
    arguments = json.dumps([list(map(str, command)) for command in commands])
    return subprocess.run([sys.executable, "-c", script, arguments], capture_output=True, text=True, check=False)


def test_the_command_line_works_without_posix_modules(tmp_path):
    result = run(["--help"], ["methods"], ["demo", "--out", tmp_path / "release"], ["ledger", tmp_path / "release"])
    assert result.returncode == 0, result.stderr
    for words in ("synthesize", "privsyn", "synthetic people", "Guarantee:"):
        assert words in result.stdout
    assert (tmp_path / "release" / "synthetic.csv").exists()


def test_a_bench_without_what_it_needs_says_so(tmp_path):
    options = ["--data", tmp_path, "--methods", "privsyn", "--out", tmp_path / "bench"]
    result = run(["bench", *options], code=2)
    assert result.returncode == 0, result.stderr
    assert "needs a system with POSIX" in result.stderr
    assert not (tmp_path / "bench").exists()
