"""The curator's end: goes round all nodes until everybody has been told that the study is over."""

import time
from collections.abc import Mapping
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from sfumato.parties.carrying import CuratorEnd
from sfumato.parties.consortium import signed_manifest

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry messages. Which node is whose is what the nodes say; what is not signed by that party is dropped."""
    run = context.run_config
    end = CuratorEnd(Path(str(run["mailbox"])), signed_manifest(Path(str(run["consortium"]))))
    owners: dict[int, str] = {}
    until = time.monotonic() + float(run["patience"])
    while not end.is_over and time.monotonic() < until:
        brought = {node: end.request(owners[node]) if node in owners else (0, []) for node in grid.get_node_ids()}
        for node, said in _asked(grid, owners, brought).items():
            name = str(said["party"])
            if owners.get(node) == name:
                end.take(name, brought[node][1], said["messages"])
            elif end.knows(name):
                owners[node] = name
        time.sleep(float(run["poll"]))


def _asked(
    grid: Grid, owners: Mapping[int, str], brought: Mapping[int, tuple[int, list[bytes]]]
) -> dict[int, ConfigRecord]:
    """What every node answers; one that does not is asked again the next time."""
    messages = []
    for node, (seen, envelopes) in brought.items():
        record = ConfigRecord({"party": owners.get(node, ""), "seen": seen, "messages": envelopes})
        messages.append(Message(RecordDict({"exchange": record}), node, "query"))
    replies = grid.send_and_receive(messages, timeout=60) if messages else []
    return {one.metadata.src_node_id: one.content["exchange"] for one in replies if one.has_content()}
