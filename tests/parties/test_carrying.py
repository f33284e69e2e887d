"""Movers of others: whatever they lose, repeat or make up, a study ends with the tables of the union."""

from helpers_protocol import Study, check

from sfumato.parties.carrying import CuratorEnd, PartyEnd
from sfumato.parties.envelopes import address
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Player
from sfumato.parties.mailbox import everything


class Moved:
    """The curator's wire, and a mover that goes round all parties whenever something is posted or awaited."""

    def __init__(self, study, folder, fails=lambda number: False):
        self.study, self.box = study, FolderMailbox(folder / CURATOR, study.members)
        self.here = CuratorEnd(folder / CURATOR, study.members)
        self.there = {name: PartyEnd(folder / name, name, study.members) for name in study.names}
        self.players = [Player(study.seat(name), FolderMailbox(folder / name, study.members)) for name in study.names]
        self.fails, self.number = fails, 0

    def put(self, envelope):
        self.box.put(envelope)

    def fetch(self, recipient, seen):
        for name, end in self.there.items():
            self.number += 1
            seen_there, brought = self.here.request(name)
            answers = end.answer(seen_there, brought)
            if not self.fails(self.number):  # the exchange itself worked, and nobody hears of it
                self.here.take(name, brought, answers)
        for player in self.players:
            player.step()
        return self.box.fetch(recipient, seen)


def test_a_study_over_folders_that_only_a_mover_connects(tmp_path):
    for case, fails in enumerate((lambda number: False, lambda number: number % 4 == 0)):
        study = Study()
        study.mailbox = moved = Moved(study, tmp_path / str(case), fails)
        tables, ledger, _ = study.curate([])
        assert not moved.here.is_over
        for _ in range(3):
            moved.fetch(CURATOR, 0)
        assert moved.here.is_over
        study.mailbox = moved.box
        check(study, tables, ledger)


def test_a_mover_brings_nothing_in_the_name_of_another(tmp_path):
    study = Study()
    moved = Moved(study, tmp_path)
    study.mailbox = moved
    study.curate([])
    asks = [one for one in everything(moved.box, "p0") if address(one)[4] == "ask"]
    end = PartyEnd(tmp_path / "other", "p1", study.members)
    assert end.answer(0, [*asks, b"", b"junk", asks[0][:-1] + b"x"]) == []
    assert not list((tmp_path / "other").rglob("*.message"))
    keys = [one for one in everything(moved.box, CURATOR) if address(one)[1] == "p2"]
    here = CuratorEnd(tmp_path / "second", study.members)
    here.take("p1", [], keys)
    assert not list((tmp_path / "second").rglob("*.message"))
    here.take("p2", [], keys)
    assert len(list((tmp_path / "second").rglob("*.message"))) == len(keys)
