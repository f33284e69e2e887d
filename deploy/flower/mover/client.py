"""A party's end: takes in what the curator wrote, and gives what the party has written to it.

Start a node with: flower-supernode … --node-config 'party="north" consortium="/srv/flu" mailbox="/srv/mail"'
"""

from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from sfumato.parties.carrying import PartyEnd
from sfumato.parties.consortium import signed_manifest

app = ClientApp()


@app.query()
def exchange(message: Message, context: Context) -> Message:
    """One exchange: the node's own configuration says which folder, never the message."""
    own, asked = context.node_config, message.content["exchange"]
    name = str(own["party"])
    answers: list[bytes] = []
    if asked["party"] == name:  # else the curator's end does not know yet whose node this is
        end = PartyEnd(Path(str(own["mailbox"])), name, signed_manifest(Path(str(own["consortium"]))))
        answers = end.answer(int(asked["seen"]), asked["messages"])
    content = RecordDict({"exchange": ConfigRecord({"party": name, "messages": answers})})
    return Message(content=content, reply_to=message)
