"""The demonstration of a study: real processes on this machine, over HTTPS, with the survey split among parties."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import tables
from sfumato.cli.parties_options import check_installed
from sfumato.errors import ProtocolError
from sfumato.files import write
from sfumato.identity import Signer
from sfumato.parties.authority import write_certificates
from sfumato.parties.consortium import add_signature, write_manifest
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema

NAMES = ("north", "south", "west", "east", "coast", "hills", "lakes", "plains", "woods", "isles")
LIMIT = 300.0
"""Seconds after which a demonstration is given up."""


def play(parties: int, survey: pa.Table, schema: Schema, epsilon: str, out_folder: Path, seed: int | None) -> Any:
    """Split a survey among parties, let them and a curator make a release of it, and return the curator's report."""
    if not 2 <= parties <= len(NAMES):
        raise ProtocolError(f"{parties} parties were asked for; the demonstration has 2 to {len(NAMES)}")
    check_installed()
    names = NAMES[:parties]
    with tempfile.TemporaryDirectory(prefix="sfumato-demo-") as place:
        folder = Path(place)
        _agree(folder, names, schema, epsilon)
        # Rows are dealt out like cards; real parties differ more, which the method does not notice: it sees sums.
        order = np.random.default_rng(0).permutation(survey.num_rows)
        for name, rows in zip(names, np.array_split(order, parties), strict=True):
            tables.write(survey.take(np.sort(rows)), folder / f"{name}.csv", schema)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        commands = {CURATOR: _curator(folder, address, out_folder, seed)}
        commands |= {name: _party(folder, name, address, epsilon) for name in names}
        reports = _run(commands, folder)
    spent = {name: reports[name]["guarantee"] for name in names}
    return reports[CURATOR] | {"spent": spent}


def _agree(folder: Path, names: tuple[str, ...], schema: Schema, epsilon: str) -> None:
    """Keys, certificates, and a manifest that everybody signs."""
    signers = {name: Signer.new() for name in (*names, CURATOR)}
    manifest = Manifest(
        name="demonstration",
        schema_text=json.dumps(schema.to_dict()),
        method="dp-subn" if "dp-subn" in RECIPES else "dpview",
        epsilon=epsilon,
        delta=None,
        colluding=1,
        missing=0,
        parties=tuple((name, signers[name].public) for name in names),
        curator=signers[CURATOR].public,
    )
    write_manifest(folder / "consortium", manifest)
    write(folder / "schema.json", manifest.schema_text)
    for name, signer in signers.items():
        add_signature(folder / "consortium", signer)
        signer.save(folder / f"{name}.key")
    write_certificates(folder / "tls", list(signers), CURATOR, ["127.0.0.1", "localhost"])


def _member(folder: Path, name: str) -> list[str]:
    """What all members are given."""
    options = {"consortium": "consortium", "key": f"{name}.key", "tls": f"tls/{name}", "work": f"{name}-work"}
    given = [text for option, file in options.items() for text in (f"--{option}", str(folder / file))]
    return [*given, "--poll", "0.1", "--patience", "120", "--json"]


def _curator(folder: Path, address: str, out_folder: Path, seed: int | None) -> list[str]:
    drawing = [] if seed is None else ["--seed", str(seed)]
    return ["curate", *_member(folder, CURATOR), "--listen", address, "--out", str(out_folder), *drawing]


def _party(folder: Path, name: str, address: str, epsilon: str) -> list[str]:
    files = ["--data", str(folder / f"{name}.csv"), "--schema", str(folder / "schema.json")]
    who = ["--name", name, "--epsilon", epsilon, "--url", f"https://{address}", "--approve", "always"]
    return ["party", "serve", *_member(folder, name), *files, *who]


def _run(commands: dict[str, list[str]], folder: Path) -> dict[str, Any]:
    """Run one process for each member to its end, and read what it printed."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            start = [sys.executable, "-c", "from sfumato.cli import main; main()", *command]
            with (folder / f"{name}.out").open("wb") as output:
                processes[name] = subprocess.Popen(start, stdout=output, stderr=subprocess.DEVNULL)
        _wait(processes, folder)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return {name: json.loads((folder / f"{name}.out").read_text(encoding="utf-8")) for name in commands}


def _wait(processes: dict[str, subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait for all processes; the first that fails, and the end of patience, end the demonstration."""
    until = time.monotonic() + LIMIT
    while any(process.poll() is None for process in processes.values()):
        for name, process in processes.items():
            if process.poll():
                raise ProtocolError(f"{name} stopped: {_last_words(folder / f'{name}.out')}")
        if time.monotonic() > until:
            raise ProtocolError(f"the demonstration took more than {LIMIT:.0f} seconds and was given up")
        time.sleep(0.05)
    for name, process in processes.items():
        if process.returncode:
            raise ProtocolError(f"{name} stopped: {_last_words(folder / f'{name}.out')}")


def _last_words(output: Path) -> str:
    try:
        return str(json.loads(output.read_text(encoding="utf-8"))["error"])
    except (ValueError, KeyError, TypeError):
        return "it said nothing"
