from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from sfumato.tables import lines
from sfumato.tables.lines import Lines, plainly_quoted

PIECES = st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b"\r", b'"b"', b'"c,d"', b'""', b"a,b\n", b'"x","y"\n']))


@given(PIECES.map(b"".join))
def test_lines_that_need_not_be_looked_at_one_by_one_are_well_formed(block):
    read = Lines(["one", "two"], ",")
    if plainly_quoted(block, ","):
        every_width = (Lines([str(name) for name in range(width)], ",") for width in range(1, 40))
        known = list(every_width)
        assert all(any(one._is_well_formed(line) for one in known) for line in block.splitlines())
    # With and without the short cut, the same rows come out.
    header = b"one,two\n"
    quick = [row for part in read.read(BytesIO(header + block)) for row in part.to_pylist()]
    short_cut, lines.plainly_quoted = lines.plainly_quoted, lambda block, delimiter: False
    try:
        slow = Lines(["one", "two"], ",")
        assert [row for part in slow.read(BytesIO(header + block)) for row in part.to_pylist()] == quick
        assert slow.malformed == read.malformed
    finally:
        lines.plainly_quoted = short_cut


def test_what_is_plainly_quoted():
    assert plainly_quoted(b'"a","b,c"\n1,2\n"",3', ",")
    for block in (b'"a""b",c\n', b'a"b,c\n', b'"a\nb",c\n', b'"a"b,c\n', b'"a,b\n"', b'x "a",b'):
        assert not plainly_quoted(block, ",")
