"""Reading what anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import JournalError, from_lines
from minitorch_dist.launching import launch

FIRST = '{"journal":1,"of":"minitorch_dist"}\n'
SEND = {"what": "send", "rank": 0, "group": "g", "seq": 0, "step": 1, "nth": 0, "to": 1, "bytes": 8, "at": 5}


def lines(*more: object) -> list[str]:
    return [FIRST, *(json.dumps(line) + "\n" for line in more)]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no journal .*MINITORCH_DIST_JOURNAL="):
        journal.read(tmp_path / "run.mtd")
    (tmp_path / "run.mtd").write_text("")
    assert len(journal.read(tmp_path)) == 0  # a run that was killed before its first line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("PK\x03\x04", "1: this is not a journal, it begins with b'PK"),
        ('{"a": 1}\n', '1: this is not a journal; its first line should be {"journal": 1'),
        ("[]\n", "1: .*is no line of a journal"),
        ('{"journal": 99}\n', "1: a journal of version 99, and this reads version 1: use the"),
        (FIRST + "{nonsense}\n" + FIRST, "2: .*is not JSON"),
        (FIRST + "7\n", "2: .*is no line"),
        (FIRST + '{"what":"dance","rank":0}\n', "2: there is no event with what='dance' and rank=0"),
        (FIRST + '{"what":"send","rank":-1}\n', "2: there is no event with what='send' and rank=-1"),
        (FIRST + '{"what":"send","rank":0}\n', "2: this send has no time"),
        (FIRST + '{"what":"send","rank":0,"at":"now"}\n', "at='now' should be int"),
        (FIRST + '{"what":"send","rank":0,"at":1,"group":[]}\n', r"group=\[\] should be str"),
        (FIRST + '{"what":"send","rank":0,"at":1,"step":-1}\n', "step=-1 is out of all bounds"),
        (FIRST + '{"what":"wait","rank":0,"at":1%s}\n' % ("0" * 400), "at=10*[.]*0* is out of all bounds"),
        (FIRST + '{"what":"begin","rank":0,"at":1,"shape":"x"}\n', "shape='x' is not a list"),
        (FIRST + '{"what":"world","rank":4,"world_size":4}\n', "rank=4 of world_size=4"),
        (FIRST + "x" * (1 << 20) + "\n", "2: a line of more than 1048576 bytes"),
    ],
)
def test_what_is_no_journal(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "run.mtd").write_text(text)
    with pytest.raises(JournalError, match=says):
        journal.read(tmp_path / "run.mtd")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*SEND, "shape", "op", "until", "arrived"]), inner, max_size=5)
        ),
        max_leaves=8,
    )
)
def test_any_json_is_read_or_refused(words: object) -> None:
    try:
        run = from_lines(lines({**SEND, **words} if isinstance(words, dict) else words))
    except JournalError:
        return
    run.order.line_up()
    assert str(run.events) and repr(run) and run.messages is not None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(octets: bytes) -> None:
    try:
        from_lines([FIRST, octets])
    except JournalError:
        return


def test_what_contradicts_itself() -> None:
    """Each rank receives what the other sends only after having received."""
    found: list[object] = []
    for rank in (0, 1):
        other = 1 - rank
        found.append({**SEND, "what": "receive", "rank": rank, "from": other, "to": None})
        found.append({**SEND, "rank": rank, "to": other, "at": 9})
    with pytest.raises(JournalError, match="would have to happen before itself"):
        from_lines(lines(*found)).order.line_up()


def test_hosts_are_aligned_by_their_wall_clocks() -> None:
    world = {"what": "world", "world_size": 2, "transport": "tcp", "clock": "system"}
    run = from_lines(
        lines(
            {**world, "rank": 0, "at": 1000, "wall": 1e-9 * 7, "host": "a"},
            {**world, "rank": 1, "at": 0, "wall": 1e-9 * 8, "host": "b"},
            SEND,
            {**SEND, "what": "receive", "rank": 1, "to": None, "from": 0, "at": 5, "arrived": 4},
        )
    )
    (message,) = run.messages
    assert (message.departed, message.arrived) == (5, 4 + 2000)
    assert run.transport == "tcp" and not run.is_virtual


def test_a_clock_that_began_before_all_times_is_refused() -> None:
    """The line itself may be right; what its rank's events become is not."""
    words = {"what": "world", "world_size": 2, "wall": 0}
    first = {**words, "rank": 0, "at": 0, "host": "a"}
    second = {**words, "rank": 1, "at": 10**40, "host": "b"}
    with pytest.raises(JournalError, match=r"at=.* is out of all bounds"):
        from_lines(lines(first, second, {**SEND, "rank": 1, "to": 0}))


def failing_receive() -> None:
    if dist.get_rank() == 0:
        with pytest.raises(dist.DistError):
            dist.recv(torch.zeros(1))  # from anybody; nobody sends


def test_a_receive_from_anybody_that_failed_is_read_and_drawn(tmp_path: Path) -> None:
    """Nobody can be named at its other end."""
    path = tmp_path / "run.mtd"
    launch(failing_receive, 2, "queue://", timeout=0.2, journal=path)
    run = journal.read(path)
    assert [event.peer for event in run.events if event.what == "receive" and event.error] == [-1]
    assert run._repr_html_()
