"""Run the suite again and again on a busy machine: `make test-stability`. The first failure ends it, and is kept.

Every run has a Hypothesis seed of its own, more examples, and as many processes beside it that only burn time as there
are processors. docs/testing.md says how often the suite may fail although nothing is wrong.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 3600
"""Seconds after which a run counts as failed: whoever started it wants to see where it stands still."""


def run_once(number: int, load: int, folder: Path, more: list[str]) -> bool:
    """One run of the suite, with its output in a file; whether it passed."""
    seed = secrets.randbelow(2**32)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    command += ["--hypothesis-profile=restless", f"--hypothesis-seed={seed}", *more]
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    output = folder / f"run-{number:02}.txt"
    started = time.monotonic()
    try:
        with output.open("w") as file:
            run = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, timeout=PATIENCE)
            passed = run.returncode == 0
    except subprocess.TimeoutExpired:  # as when a worker was aborted: the others wait for it for ever
        passed = False
    finally:
        for process in burning:
            process.kill()
            process.wait()
    last = output.read_text().strip().splitlines()[-1:]
    print(f"run {number}, seed {seed}, {time.monotonic() - started:.0f} s: {''.join(last)}", flush=True)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--load", type=int, default=os.cpu_count(), help="processes that keep the machine busy")
    parser.add_argument("--out", type=Path, default=Path("build/stability"))
    arguments, more = parser.parse_known_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for number in range(1, arguments.runs + 1):
        if not run_once(number, arguments.load, arguments.out, more):
            print(f"run {number} of {arguments.runs} failed; its output is in {arguments.out / f'run-{number:02}.txt'}")
            return 1
    print(f"{arguments.runs} runs in a row passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
