"""Files appear whole or not at all, never over another one by accident, and private ones for nobody else."""

import ast
import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from sfumato import files
from sfumato.errors import FileError

every_umask = pytest.mark.parametrize("mask", [0o000, 0o022, 0o077], ids=["000", "022", "077"])


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def found(folder):
    """Everything in a folder, hidden files too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def write_folder(path):
    with files.new_folder(path) as staging:
        (staging / "one").write_text("1")


WAYS = {
    "write": lambda path: files.write(path, "1"),
    "write_new": lambda path: files.write_new({path: "1", path.with_name("other"): b"2"}),
    "new_folder": write_folder,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


class TestWhole:
    def test_what_was_written_is_there_and_nothing_else(self, tmp_path):
        files.write(tmp_path / "text", "grün\n")
        files.write(tmp_path / "bytes", b"\x00\xff")
        files.write_new({tmp_path / "a": "1", tmp_path / "b": b"2"})
        with files.new_folder(tmp_path / "folder") as staging:
            (staging / "inside").write_text("x")
            assert not (tmp_path / "folder").exists()
        assert (tmp_path / "text").read_bytes() == "grün\n".encode()
        assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
        assert found(tmp_path) == ["a", "b", "bytes", "folder", "folder/inside", "text"]

    def test_a_file_is_replaced_at_once(self, tmp_path):
        path = tmp_path / "x"
        path.write_text("old")
        with files.replacing(path) as file:
            file.write(b"new")
            file.flush()
            assert path.read_text() == "old"
        assert path.read_text() == "new"
        assert found(tmp_path) == ["x"]

    @pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_a_crash_in_the_middle_leaves_the_old_file(self, tmp_path, problem):
        path = tmp_path / "x"
        path.write_text("old")

        def crash():
            with files.replacing(path) as file:
                file.write(b"half")
                raise problem

        with pytest.raises(problem):
            crash()
        assert path.read_text() == "old"
        assert found(tmp_path) == ["x"]

    @pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
    def test_a_crash_in_the_middle_leaves_no_folder(self, tmp_path, problem):
        def crash():
            with files.new_folder(tmp_path / "x") as staging:
                (staging / "half").write_text("half")
                raise problem

        with pytest.raises(problem):
            crash()
        assert found(tmp_path) == []

    @every_way
    def test_a_disk_that_is_full_is_an_error_that_leaves_nothing(self, tmp_path, way, monkeypatch):
        def full(*given):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(FileError, match=r"could not be written \(No space left on device\); nothing was left"):
            way(tmp_path / "x")
        assert found(tmp_path) == []

    @pytest.mark.parametrize("failing", [0, 1])
    def test_several_new_files_come_all_together_or_not_at_all(self, tmp_path, failing, monkeypatch):
        real, calls = Path.rename, []

        def rename(self, target):
            calls.append(target)
            if len(calls) == failing + 1:
                raise OSError(5, "Input/output error")
            return real(self, target)

        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(FileError, match="Input/output error"):
            files.write_new({tmp_path / "a": "1", tmp_path / "b": "2"})
        assert found(tmp_path) == []

    def test_a_process_that_is_killed_leaves_the_old_file_and_no_half_of_the_new_one(self, tmp_path):
        path = tmp_path / "x"
        path.write_text("old")
        program = (
            "import os, signal, sys\nfrom pathlib import Path\nfrom sfumato import files\n"
            "with files.replacing(Path(sys.argv[1])) as file:\n"
            "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        ended = subprocess.run([sys.executable, "-c", program, path], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert path.read_text() == "old"
        assert [name for name in found(tmp_path) if not name.startswith(".")] == ["x"]


class TestInTheWay:
    @pytest.mark.parametrize("what", ["file", "folder", "link", "dead link"])
    @pytest.mark.parametrize("way", [WAYS["write_new"], WAYS["new_folder"]], ids=["write_new", "new_folder"])
    def test_nothing_new_is_made_where_something_is(self, tmp_path, what, way):
        path = self.occupied(tmp_path, what)
        before = found(tmp_path)
        with pytest.raises(FileError, match=r"exists already; .* is never overwritten"):
            files.check_new(path)
        with pytest.raises(FileError, match=r"exists already; .* is never overwritten"):
            way(path)
        assert found(tmp_path) == before

    @staticmethod
    def occupied(folder, what):
        path, other = folder / "x", folder / "elsewhere"
        match what:
            case "file":
                path.write_text("old")
            case "folder":
                path.mkdir()
            case "link":
                other.write_text("old")
                path.symlink_to(other)
            case _:
                path.symlink_to(other)
        return path

    @pytest.mark.parametrize("what", ["file", "folder", "link", "dead link"])
    def test_what_appears_in_the_meantime_is_not_overwritten_either(self, tmp_path, what):
        def write():
            with files.new_folder(tmp_path / "x") as staging:
                (staging / "mine").write_text("mine")
                self.occupied(tmp_path, what)

        with pytest.raises(FileError, match="exists already"):
            write()
        assert "x/mine" not in found(tmp_path)
        if what == "file":
            assert (tmp_path / "x").read_text() == "old"

    def test_a_second_file_that_appears_takes_the_first_back(self, tmp_path, monkeypatch):
        real = Path.rename

        def rename(self, target):
            (tmp_path / "b").write_text("theirs")
            return real(self, target)

        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(FileError, match="b' exists already"):
            files.write_new({tmp_path / "a": "1", tmp_path / "b": "2"})
        assert found(tmp_path) == ["b"]
        assert (tmp_path / "b").read_text() == "theirs"

    def test_a_link_is_replaced_and_not_what_it_points_to(self, tmp_path):
        (tmp_path / "target").write_text("old")
        (tmp_path / "link").symlink_to(tmp_path / "target")
        files.write(tmp_path / "link", "new")
        assert (tmp_path / "target").read_text() == "old"
        assert not (tmp_path / "link").is_symlink()
        assert (tmp_path / "link").read_text() == "new"

    def test_a_folder_is_never_replaced_by_a_file(self, tmp_path):
        (tmp_path / "x").mkdir()
        with pytest.raises(FileError, match="is a folder; give the name of a file"):
            files.write(tmp_path / "x", "1")
        assert found(tmp_path) == ["x"]

    @every_way
    def test_a_folder_that_does_not_exist_is_named(self, tmp_path, way):
        with pytest.raises(FileError, match="nowhere"):
            way(tmp_path / "nowhere" / "x")
        assert found(tmp_path) == []

    @every_way
    @pytest.mark.parametrize("name", ["ä" * 250, "a\0b"], ids=["long", "null"])
    def test_what_can_be_no_name_is_refused_before_any_work(self, tmp_path, way, name):
        with pytest.raises(FileError, match="cannot be the name of a file"):
            files.check_new(tmp_path / name)
        with pytest.raises(FileError, match="cannot be the name of a file"):
            way(tmp_path / name)
        assert found(tmp_path) == []

    def test_the_longest_name_that_a_file_can_have_is_fine(self, tmp_path):
        files.write(tmp_path / ("x" * 255), "1")
        assert found(tmp_path) == ["x" * 255]

    @every_way
    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_permission_is_refused(self, tmp_path, way):
        folder = tmp_path / "locked"
        folder.mkdir()
        folder.chmod(0o500)
        try:
            with pytest.raises(FileError, match=r"cannot be written to|could not be written"):
                way(folder / "x")
            assert found(folder) == []
        finally:
            folder.chmod(0o700)

    @every_way
    def test_permission_that_is_denied_is_an_error(self, tmp_path, way, monkeypatch):
        def denied(*given, **more):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.mkdtemp", denied)
        with pytest.raises(FileError, match=r"could not be written \(Permission denied\)"):
            way(tmp_path / "x")
        assert found(tmp_path) == []


class TestWhoMayRead:
    @every_umask
    def test_files_follow_the_umask_unless_a_mode_is_given(self, tmp_path, mask):
        with umask(mask):
            files.write(tmp_path / "plain", "1")
            files.write(tmp_path / "private", "1", files.PRIVATE)
            files.write(tmp_path / "shared", "1", 0o644)
            files.write_new({tmp_path / "new": "1"}, files.PRIVATE)
            files.write_new({tmp_path / "other": "1"})
            write_folder(tmp_path / "folder")
        names = ("plain", "private", "shared", "new", "other", "folder", "folder/one")
        assert {name: mode(tmp_path / name) for name in names} == {
            "plain": 0o666 & ~mask,
            "private": 0o600,
            "shared": 0o644,
            "new": 0o600,
            "other": 0o666 & ~mask,
            "folder": 0o777 & ~mask,
            "folder/one": 0o666 & ~mask,
        }

    @every_umask
    def test_a_file_that_is_being_written_is_for_nobody_else(self, tmp_path, mask):
        with umask(mask), files.replacing(tmp_path / "x", files.PRIVATE) as file:
            file.write(b"secret")
            (staging,) = tmp_path.iterdir()
            assert mode(staging) == 0o700
            assert [mode(path) for path in staging.iterdir()] == [0o600]

    @every_umask
    def test_a_private_file_stays_private_when_it_replaces_a_public_one(self, tmp_path, mask):
        path = tmp_path / "x"
        path.write_text("old")
        path.chmod(0o666)
        with umask(mask):
            files.write(path, "new", files.PRIVATE)
        assert mode(path) == 0o600


# ------------------------------------------------------------------------------------------------- nobody else writes

PACKAGE = Path(files.__file__).parent
WRITERS = {
    "files.py": "the one place",
    "release/storage.py": "into the staging folder of a release, which files.py moves",
    "tables/writing.py": "into a file that files.py has opened",
    "cli/query.py": "into memory",
    "parties/journal.py": "a database, which is made private before it is opened",
    "parties/audit.py": "appends to a log whose lines are chained",
    "cli/party_demo.py": "what the processes of the demonstration print",
    "parties/folder.py": "a mailbox: a file for each message",
    "app/child.py": "appends lines of progress, and touches a sign of life",
    "audit/encoding.py": "made-up rows, into a folder that vanishes",
    "book/chain.py": "a database, which is made private before it is opened",
    "engines/person_buckets.py": "into a file without a name, for its owner alone",
    "engines/spool.py": "a file without a name, for its owner alone",
    "parties/journal_file.py": "a database, which is made private before it is opened",
    "report/figures.py": "into text",
}
"""Modules that may write, and why."""
ALWAYS = {"write_text", "write_bytes", "fdopen", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "touch", "savez"}
ALWAYS |= {"savez_compressed", "write_table", "write_csv", "to_csv", "to_parquet", "tofile", "GzipFile"}


def writing_calls(text):
    """The names of calls that write, or could, in the text of a module."""
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        modes = [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        letters = {letter for mode in modes if len(mode) <= 3 for letter in mode}
        flags = "".join(map(ast.dump, values))
        opened = letters & set("wax+") or "O_WRONLY" in flags or "O_RDWR" in flags
        if name in ALWAYS or (name == "open" and opened):
            yield name


def test_nothing_but_one_module_opens_files_for_writing():
    writers = {
        str(path.relative_to(PACKAGE)): sorted(set(writing_calls(path.read_text(encoding="utf-8"))))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    found = {name: calls for name, calls in writers.items() if calls}
    assert "files.py" in found
    assert {name: calls for name, calls in found.items() if name not in WRITERS} == {}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("open('x', 'w')", True),
        ("path.open(mode='ab')", True),
        ("gzip.open(path, 'r+b')", True),
        ("os.open(path, os.O_WRONLY | os.O_CREAT)", True),
        ("Path('x').write_text('y')", True),
        ("open('some.csv')", False),
        ("path.open('rb')", False),
        ("self._file.write(b'')", False),
    ],
)
def test_calls_that_write_are_recognised(text, seen):
    assert bool(list(writing_calls(text))) == seen
