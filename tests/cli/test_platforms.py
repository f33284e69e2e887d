"""The command line as other systems have it: without POSIX modules, with another encoding, without a compiler."""

import json
import os
import subprocess
import sys

from sfumato import kernels

WITHOUT = """
import json, os, sys, warnings

warnings.filterwarnings("ignore", category=EncodingWarning)
warnings.filterwarnings("default", category=EncodingWarning, module="sfumato")  # old networkx has one of its own
for name in MISSING:
    sys.modules[name] = None  # an import of it fails
for name in "fork forkpty register_at_fork wait4 killpg getuid mkfifo pread O_NOFOLLOW O_NONBLOCK".split():
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


POSIX = ["resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog"]


def run(*commands, code=0, missing=POSIX):
    script = WITHOUT.replace("EXPECTED", str(code)).replace("MISSING", repr(missing))
    arguments = json.dumps([list(map(str, command)) for command in commands])
    command = [sys.executable, "-X", "warn_default_encoding", "-c", script, arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # A file that is opened in the system's own encoding is a warning here, and on Windows it is read by a code page.
    assert "'encoding' argument not specified" not in done.stderr
    return done


def test_the_command_line_works_without_posix_modules(tmp_path):
    result = run(["--help"], ["methods"], ["demo", "--out", tmp_path / "release"], ["ledger", tmp_path / "release"])
    assert result.returncode == 0, result.stderr
    for words in ("synthesize", "privsyn", "synthetic people", "Guarantee:"):
        assert words in result.stdout
    assert "not compiled" not in result.stdout or not kernels.COMPILED
    assert (tmp_path / "release" / "synthetic.csv").exists()


def test_a_bench_without_what_it_needs_says_so(tmp_path):
    options = ["--data", tmp_path, "--methods", "privsyn", "--out", tmp_path / "bench"]
    result = run(["bench", *options], code=2)
    assert result.returncode == 0, result.stderr
    assert "needs a system with POSIX" in result.stderr
    assert not (tmp_path / "bench").exists()


def test_a_pipe_gets_utf_8_whatever_the_system_has():
    script = "from sfumato.cli import main\ntry: main()\nexcept SystemExit: print('ε █ Ω')"
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-c", script, "ledger", "Ωε█"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "ε █ Ω"
    assert done.stderr.decode().startswith("error: 'Ωε█")


def test_the_demo_runs_without_compiled_kernels_and_says_so(tmp_path):
    without = [*POSIX, "sfumato.kernels._compiled", "sfumato.kernels._trees"]
    result = run(["demo", "--out", tmp_path / "release"], ["--version"], missing=without)
    assert result.returncode == 0, result.stderr
    assert "The kernels are not compiled, so this took longer" in result.stdout
    assert "(kernels not compiled, so slower)" in result.stdout
