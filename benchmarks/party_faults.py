"""The fault table: studies of real processes in which members are killed, lost, silent, or have no disk or clock.

    python benchmarks/party_faults.py [--only kill …] [--steps 6]

Four parties, of which one may stay away, and a curator: five processes each time, over HTTPS on this machine. A member
is killed (SIGKILL) when its audit log reaches a certain line, and started again as a service would, or never. A full
disk is a limit on the size of files, which is lifted when the member starts again; a wrong clock is two days ahead or
behind in all that Python tells the member (not in TLS, which asks the system). Behind, its certificate is not valid
yet: it ends at once with code 2, and is started again with the right clock. For every study one line: how it ended, all
exit codes of each member, and what the parties that ended well have spent. At the end, how many studies were lost.
"""

import argparse
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.identity import Signer
from sfumato.parties.authority import write_certificates
from sfumato.parties.consortium import add_signature, write_manifest
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest

NAMES = ("north", "south", "east", "west")
PATIENCE = "12"
LIMIT = 240.0
SCHEMA = {
    "name": "small",
    "columns": [
        {"name": name, "type": "categorical", "categories": [f"{name}{code}" for code in range(size)]}
        for name, size in (("a", 12), ("b", 9), ("c", 5), ("d", 4), ("e", 3), ("f", 2))
    ],
}
START = "from sfumato.cli import main; main()"
SKEWED = """
import datetime, importlib, pkgutil, sys, time
import sfumato.parties
for found in pkgutil.iter_modules(sfumato.parties.__path__, "sfumato.parties."):
    importlib.import_module(found.name)
real, ahead = time.time, {seconds}
time.time = lambda: real() + ahead
class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=ahead)
for module in list(sys.modules.values()):
    if module.__name__.startswith("sfumato.") and getattr(module, "datetime", None) is datetime.datetime:
        module.datetime = Shifted
"""


@dataclass(frozen=True)
class Fault:
    """What happens to one member.

    Args:
        kind: of fault, for the table.
        victim: the member.
        line: of its audit log, at which it is killed; 0 if it is not.
        back: whether it is started again.
        starts: whether it is ever started.
        disk: the largest file, in bytes, until it starts again.
        skew: seconds by which its clock is wrong.
    """

    kind: str
    victim: str
    line: int = 0
    back: bool = True
    starts: bool = True
    disk: int = 0
    skew: int = 0


def faults(steps: int) -> Iterator[Fault]:
    """All studies of the table."""
    for line in range(2, 2 + 3 * steps, 3):
        yield Fault("kill a party", "south", line)
        yield Fault("lose a party for good", "south", line, back=False)
        yield Fault("kill the curator", CURATOR, line)
    for size in (6_000, 40_000):
        yield Fault("full disk at a party", "south", disk=size)
        yield Fault("full disk at the curator", CURATOR, disk=size)
    yield Fault("silence from the start", "south", starts=False)
    for skew in (-172_800, 172_800):
        yield Fault("a party's clock", "south", skew=skew)
        yield Fault("the curator's clock", CURATOR, skew=skew)


@dataclass
class Member:
    """One process, and what becomes of it."""

    name: str
    command: list[str]
    work: Path
    output: Path
    fault: Fault | None = None
    process: subprocess.Popen[bytes] | None = None
    struck: bool = False
    codes: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Start, or start again."""
        fault, first = self.fault, not self.codes
        program = SKEWED.format(seconds=fault.skew) + START if fault and fault.skew and first else START
        limited = fault is not None and fault.disk > 0 and first
        before: Callable[[], None] | None = (lambda: _limit(fault.disk)) if fault and limited else None
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *self.command],
                stdout=output,
                stderr=subprocess.DEVNULL,
                preexec_fn=before,
            )

    def look(self) -> bool:
        """Strike, note an end, start again; whether it is still to go on."""
        if self.process is None:
            return False
        fault = self.fault
        if fault and fault.line and not self.struck and _lines(self.work / "audit.jsonl") >= fault.line:
            self.struck = True
            self.process.kill()
            self.process.wait()
        code = self.process.poll()
        if code is None:
            return True
        self.codes.append(code)
        self.process = None
        killed = code < 0
        mended = code == 2 and fault is not None and fault.skew != 0 and len(self.codes) == 1
        if (killed and fault and fault.back) or mended or (code == 75 and len(self.codes) < 6):
            self.start()
            return True
        return False


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def agreed(folder: Path) -> None:
    """Tables, keys, certificates, and a manifest that everybody has signed."""
    rng = np.random.default_rng(0)
    for name in NAMES:
        codes = [rng.integers(0, len(column["categories"]), 800) for column in SCHEMA["columns"]]
        columns = {
            column["name"]: [column["categories"][code] for code in drawn]
            for column, drawn in zip(SCHEMA["columns"], codes, strict=True)
        }
        pa.csv.write_csv(pa.table(columns), folder / f"{name}.csv")
    signers = {name: Signer.new() for name in (*NAMES, CURATOR)}
    parties = tuple((name, signers[name].public) for name in NAMES)
    manifest = Manifest("faults", json.dumps(SCHEMA), "dp-subn", "1", None, 1, 1, parties, signers[CURATOR].public)
    write_manifest(folder / "consortium", manifest)
    (folder / "schema.json").write_text(manifest.schema_text, encoding="utf-8")
    for name, signer in signers.items():
        add_signature(folder / "consortium", signer)
        signer.save(folder / f"{name}.key")
    write_certificates(folder / "tls", list(signers), CURATOR, ["127.0.0.1"])


def members(folder: Path, fault: Fault) -> list[Member]:
    """The five commands."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    found = []
    for name in (CURATOR, *NAMES):
        options = {"consortium": "consortium", "key": f"{name}.key", "tls": f"tls/{name}", "work": f"{name}-work"}
        given = [text for option, file in options.items() for text in (f"--{option}", str(folder / file))]
        given += ["--poll", "0.1", "--patience", PATIENCE, "--json"]
        if name == CURATOR:
            command = ["curate", *given, "--listen", address, "--out", str(folder / "release")]
        else:
            files = ["--data", str(folder / f"{name}.csv"), "--schema", str(folder / "schema.json")]
            who = ["--name", name, "--epsilon", "1", "--url", f"https://{address}", "--approve", "always"]
            command = ["party", "serve", *given, *files, *who]
        own = fault if fault.victim == name else None
        found.append(Member(name, command, folder / f"{name}-work", folder / f"{name}.out", own))
    return found


def play(fault: Fault) -> dict[str, object]:
    """One study."""
    with tempfile.TemporaryDirectory(prefix="sfumato-faults-") as place:
        folder = Path(place)
        agreed(folder)
        everybody = members(folder, fault)
        until = time.monotonic() + LIMIT
        try:
            for member in everybody:
                if member.fault is None or fault.starts:
                    member.start()
            going = True
            while going and time.monotonic() < until:
                going = sum(member.look() for member in everybody) > 0
                time.sleep(0.02)
        finally:
            for member in everybody:
                if member.process is not None:
                    member.process.kill()
                    member.process.wait()
        spent = {}
        for member in everybody[1:]:
            if member.codes and member.codes[-1] == 0:
                spent[member.name] = json.loads(member.output.read_text(encoding="utf-8"))["guarantee"]["epsilon"]
        ended = (folder / "release" / "release.json").exists()
        codes = {member.name: member.codes for member in everybody}
        return {
            "kind": fault.kind,
            "line": fault.line,
            "struck": any(member.struck for member in everybody) or not fault.line,
            "ended_well": ended and codes[CURATOR][-1:] == [0],
            "spent": sorted(set(spent.values())),
            "parties_done": len(spent),
            "codes": codes,
        }


def main() -> None:
    """Play all studies, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kinds of fault that have this in their name")
    parser.add_argument("--steps", type=int, default=6)
    given = parser.parse_args()
    table: dict[str, list[dict[str, object]]] = {}
    for fault in faults(given.steps):
        if given.only in fault.kind:
            found = play(fault)
            table.setdefault(fault.kind, []).append(found)
            print(json.dumps(found), flush=True)
    print("\n| fault | studies | struck | lost | parties done | spent |\n|---|---|---|---|---|---|")
    for kind, studies in table.items():
        lost = sum(not one["ended_well"] for one in studies)
        done = sorted({one["parties_done"] for one in studies})
        spent = sorted({value for one in studies for value in one["spent"]})
        struck = sum(bool(one["struck"]) for one in studies)
        print(f"| {kind} | {len(studies)} | {struck} | {lost} | {done} | {spent} |")


if __name__ == "__main__":
    main()
