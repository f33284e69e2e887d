"""Runs one command with a limit and says what it took. Started as a small process of its own, with no other module.

    python -I launcher.py LIMIT LOG COMMAND …

The size of the process that starts another one counts into the other's peak memory; this one is small. The command and
all it starts form a process group, which is killed when the command ends, when the limit is reached, and when
whoever started the launcher is gone. Prints one JSON object.
"""

import json
import math
import os
import resource
import signal
import subprocess
import sys
import time

PATIENCE = 5
"""The limit is in CPU seconds; on the clock a run may take this many times as long, because machines are shared."""

_BYTES = 1 if sys.platform == "darwin" else 1024


def launch(limit: float, log: str, command: list[str]) -> dict[str, float | int | bool]:
    """Run a command to its end or to its limit; its output goes to the file `log`."""
    parent, deadline = os.getppid(), time.monotonic() + PATIENCE * limit
    seconds = math.ceil(limit)
    late = False
    with open(log, "wb") as file:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        )
        try:
            while True:
                pid, state, used = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline or os.getppid() != parent:
                    late = True
                    _kill(child.pid)
                time.sleep(0.05)
        finally:
            _kill(child.pid)
    child.returncode = os.waitstatus_to_exitcode(state)
    cpu = used.ru_utime + used.ru_stime
    late = late or child.returncode == -signal.SIGXCPU or (child.returncode != 0 and cpu > limit)
    return {"code": child.returncode, "late": late, "cpu": cpu, "peak": used.ru_maxrss * _BYTES / 2**30}


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # all of it has ended


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(json.dumps(launch(float(sys.argv[1]), sys.argv[2], sys.argv[3:])))
