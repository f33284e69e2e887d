"""A party's side of a study: a generator over messages, without clocks, files or sockets.

What it answers follows from the message and its store alone, and the store is written before anything is sent. So it
may be stopped at any time, see messages twice or late, and still pays once and sends one vector for a round.
"""

from __future__ import annotations

from collections.abc import Generator

from sfumato.errors import FileError, SfumatoError
from sfumato.parties.agreement import Go, Roster
from sfumato.parties.choose import choose
from sfumato.parties.contribute import close, get_ready, reveal, send
from sfumato.parties.letters import CURATOR, REASON
from sfumato.parties.messages import Ask, Choose, Done, End, Message, Refusal, Unmask
from sfumato.parties.promise import promise
from sfumato.parties.seat import Seat
from sfumato.text import one_line


def take_part(seat: Seat) -> Generator[tuple[Message, ...], tuple[Message, ...], str]:
    """Answer messages until the curator ends the study; returns its reason, which is empty if all went well."""
    answers: tuple[Message, ...] = ()
    while True:
        incoming = yield answers
        answers = ()
        for message in incoming:
            if isinstance(message, End):
                return message.text
            answers += answer(seat, message)


def answer(seat: Seat, message: Message) -> tuple[Message, ...]:
    """What a party has to say to one message, after it has written down what it must not forget."""
    try:
        match message:
            case Ask():
                return (promise(seat, message),)
            case Roster():
                return (get_ready(seat, message),)
            case Go():
                return (send(seat, message),)
            case Choose():
                return (choose(seat, message),)
            case Unmask():
                return (reveal(seat, message),)
            case Done():
                close(seat, message.round, message.attempt)
                return ()
            case _:
                return ()
    except FileError:
        raise  # of this machine, and no answer to the message: it is answered when there is room
    except SfumatoError as problem:
        return (Refusal(message.round, message.attempt, seat.name, CURATOR, one_line(problem, REASON)),)
