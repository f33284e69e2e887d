"""A whole study of real processes whose messages only Flower carries. Wants Flower: make test-flower."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from sfumato import files
from sfumato.identity import Signer
from sfumato.parties.consortium import add_signature, write_manifest
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest

NAMES = ("north", "south", "west")
SCHEMA = {
    "name": "small",
    "columns": [
        {"name": name, "type": "categorical", "categories": [f"{name}{code}" for code in range(size)]}
        for name, size in (("a", 5), ("b", 4), ("c", 3))
    ],
}
APP = Path(__file__).parents[2] / "deploy" / "flower"
BIN = Path(sys.executable).parent
SECONDS = 900


def agreed(folder):
    """Tables, keys, and a manifest that everybody has signed."""
    rng = np.random.default_rng(0)
    for name in NAMES:
        rows = [
            ",".join(f"{one}{code}" for one, code in zip("abc", rng.integers(0, 3, 3), strict=True)) for _ in range(300)
        ]
        files.write(folder / f"{name}.csv", "a,b,c\n" + "\n".join(rows) + "\n")
    signers = {name: Signer.new() for name in (*NAMES, CURATOR)}
    parties = tuple((name, signers[name].public) for name in NAMES)
    manifest = Manifest("flower", json.dumps(SCHEMA), "dpview", "1", None, 1, 0, parties, signers[CURATOR].public)
    write_manifest(folder / "consortium", manifest)
    files.write(folder / "schema.json", manifest.schema_text)
    for name, signer in signers.items():
        add_signature(folder / "consortium", signer)
        signer.save(folder / f"{name}.key")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Processes:
    """Processes that end with the test."""

    def __init__(self, folder, environment):
        self.folder, self.environment, self.all = folder, environment, {}

    def start(self, name, program, *options):
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [str(BIN / program), *map(str, options)]
            self.all[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def end(self):
        for process in self.all.values():
            process.terminate()
        for process in self.all.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def said(self):
        return {name: (self.folder / f"{name}.log").read_text(errors="replace")[-600:] for name in self.all}


def test_flower_carries_a_study_from_beginning_to_end(tmp_path):
    agreed(tmp_path)
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    files.write(
        home / "config.toml",
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n',
    )
    environment = os.environ | {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    processes = Processes(tmp_path, environment)
    place = f'consortium="{tmp_path}/consortium"'
    link = ("--insecure", "--disable-runtime-dependency-installation")
    with ExitStack() as stack:
        stack.callback(processes.end)
        processes.start("link", "flower-superlink", *link, "--port", port)
        for name in NAMES:
            own = f'party="{name}" {place} mailbox="{tmp_path}/mail-{name}"'
            node = ("--insecure", "--superlink", f"127.0.0.1:{port}", "--port", free_port(), "--node-config", own)
            processes.start(f"node-{name}", "flower-supernode", *node)
        for name in (CURATOR, *NAMES):
            folders = ("--consortium", tmp_path / "consortium", "--mailbox", tmp_path / f"mail-{name}")
            given = (*folders, "--key", tmp_path / f"{name}.key", "--work", tmp_path / f"{name}-work", "--poll", "0.2")
            given = (*given, "--patience", SECONDS, "--json")
            if name == CURATOR:
                processes.start(name, "sfumato", "curate", *given, "--out", tmp_path / "release")
            else:
                table = ("--data", tmp_path / f"{name}.csv", "--schema", tmp_path / "schema.json", "--name", name)
                processes.start(
                    name, "sfumato", "party", "serve", *given, *table, "--epsilon", "1", "--approve", "always"
                )
        until, members = time.monotonic() + SECONDS, [processes.all[name] for name in (CURATOR, *NAMES)]
        config = f'{place} mailbox="{tmp_path}/mail-{CURATOR}" patience={SECONDS}.0'
        while time.monotonic() < until and any(one.poll() is None for one in members):
            run = processes.all.get("run")
            if run is None or run.poll():  # the link may not listen yet
                processes.start("run", "flwr", "run", APP, "here", "--run-config", config)
            time.sleep(2)
        assert [one.poll() for one in members] == [0] * len(members), processes.said()
    spent = {json.loads((tmp_path / f"{name}.log").read_text())["guarantee"]["epsilon"] for name in NAMES}
    assert spent == {1.0}
    assert (tmp_path / "release" / "release.json").exists()
    # Nothing but the mover connects the folders.
    for name in NAMES:
        assert {one.name for one in (tmp_path / f"mail-{name}").iterdir()} == {name, CURATOR}
