"""A real pseudo-terminal for commands, and a small model of the screen that a person would see."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time

WIDTH, HEIGHT = 100, 400
_SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|\x9b([?0-9;]*)([A-Za-z])")


_END = "<the end of a command: "
_SCRIPT = f"""
import json, sys
from sfumato.cli import main
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        print("{_END}" + str(end.code) + ">", flush=True)
"""


def run_on_terminal(*commands, typed="", seconds=600):
    """Run `sfumato` on a terminal, each command after the other: its exit code, and all bytes that it wrote there."""
    written = _written([_SCRIPT, json.dumps([list(map(str, command)) for command in commands])], typed, seconds)
    pieces = written.decode("utf-8", "surrogateescape").split(_END)
    assert len(pieces) == len(commands) + 1, written
    codes = [int(piece.partition(">")[0]) for piece in pieces[1:]]
    texts = [pieces[0], *(piece.partition(">")[2].lstrip("\r\n") for piece in pieces[1:-1])]
    return list(zip(codes, texts, strict=True))


def _written(arguments, typed, seconds):
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (HEIGHT, WIDTH))
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-c", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment | {"TERM": "xterm-256color", "PYTHONUTF8": "1"},
        start_new_session=True,
    )
    os.close(follower)
    os.write(leader, typed.encode())
    written, until = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    written += os.read(leader, 1 << 16)
                except OSError:  # the other end is closed: all is read
                    break
            elif process.poll() is not None and not select.select([leader], [], [], 0)[0]:
                break  # nothing can come any more, and nothing has come while that was found out
        process.wait(seconds)
        return written
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def screen(text):
    """The lines that can be read after this output: concealed text and text in its background's colour cannot."""
    lines, row, column, hidden = [[]], 0, 0, False

    def put(text):
        nonlocal column
        for one in text:
            line = lines[row]
            line.extend(" " * (column - len(line)))
            line[column : column + 1] = [" " if hidden else one]
            column += 1

    place = 0
    while place < len(text):
        match = _SEQUENCE.match(text, place)
        if match:
            numbers, what = (match[1], match[2]) if match[2] else (match[3], match[4])
            first = int((numbers or "").strip("?").split(";")[0] or 0)
            if what == "m":
                codes = (numbers or "0").split(";")
                hidden = "8" in codes or ("30" in codes and "40" in codes)
            elif what == "A":
                row = max(0, row - max(first, 1))
            elif what == "J" and first == 2:
                lines, row, column = [[]], 0, 0
            elif what == "K":
                lines[row] = lines[row][: 0 if first == 2 else column]
            elif what in ("G", "H"):
                column = max(first, 1) - 1
            place = match.end()
            continue
        one = text[place]
        if one == "\n":
            row += 1
            lines.extend([] for _ in range(row + 1 - len(lines)))
        elif one == "\r":
            column = 0
        elif one == "\b":
            column = max(0, column - 1)
        else:
            put(one)
        place += 1
    return ["".join(line).rstrip() for line in lines]


def foreign_sequences(text):
    """Control characters that no command has a reason to write: all but line ends, colours and the progress bar's."""
    ours = re.compile(r"\r?\n|\r|\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[[0-9]*A|\x1b\[1A")
    return [one for one in ours.sub("", text) if not one.isprintable()]
