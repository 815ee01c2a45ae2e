"""The mapped rings: every offset, every order of taking turns, and a peer that writes nonsense."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, strategies as st

from tests.transports import ends
from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.errors import Damaged
from transports.shared_file import ring
from transports.spin import Spin

lengths = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 200, 5000]))
turns = st.tuples(lengths, lengths, st.integers(0, 2))  # of header and payload; drains before it


def body(nbytes: int, seed: int) -> bytes:
    return bytes((7 * n + seed) % 256 for n in range(nbytes))


@given(st.lists(turns, max_size=20), st.sampled_from([16, 32, 48, 112, 256, 4096]))
def test_what_is_put_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, sent: list[tuple[int, int, int]], room: int
) -> None:
    """Both sides take turns as they like; rings of a few bytes wrap amid words, headers, payloads."""
    messages = [(body(head, seed), body(rest, ~seed)) for seed, (head, rest, _) in enumerate(sent)]
    with ends.rings(tmp_path_factory.mktemp("rings"), room) as (ours, theirs):
        ends.by_turns(ours.outlets[1], theirs.inlets[0], messages, [n for _, _, n in sent])


@pytest.mark.parametrize("room", range(16, 160, 16))
@pytest.mark.parametrize("header", [0, 1, 16, 17])
def test_every_offset_of_a_small_ring(tmp_path: Path, room: int, header: int) -> None:
    """Lengths 0 … 40 begin at every place a message can begin at."""
    with ends.rings(tmp_path, room) as (ours, theirs):
        desk, outlet, inlet = ends.Desk(), ours.outlets[1], theirs.inlets[0]
        expected = []
        for turn in range(3 * room // 16 * 5):
            payload = body(turn % 41, turn)
            expected.append((b"h" * header, payload))
            if not outlet.offer(b"h" * header, memoryview(payload)):
                while outlet.is_pending:
                    inlet.drain(desk)
                    outlet.push()
            if turn % 3:
                inlet.drain(desk)
        inlet.drain(desk)
        assert desk.whole == expected


@given(st.lists(st.tuples(lengths, lengths, st.booleans()), max_size=20))
def test_fetching_is_delivering_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, sent: list[tuple[int, int, bool]]
) -> None:
    """Each message is fetched if it can be, and else drained: none twice, none out of order."""
    with ends.rings(tmp_path_factory.mktemp("rings"), 4096) as (ours, theirs):
        desk, outlet, inlet = ends.Desk(), ours.outlets[1], theirs.inlets[0]
        for seed, (head, rest, is_wanted) in enumerate(sent):
            header, payload, place = body(head, seed), body(rest, ~seed), bytearray(rest)
            outlet.offer(header, memoryview(payload))
            front = header if is_wanted else header + b"?"
            taken = inlet.fetch(front, memoryview(place), theirs.spin)
            if taken is None:
                assert not any(place)
                while outlet.is_pending or not desk.whole:
                    inlet.drain(desk)
                    outlet.push()
                taken, place[:] = desk.whole.pop()
            else:
                assert is_wanted
            assert (taken, bytes(place)) == (header, payload)
            assert inlet.fetch(b"", memoryview(b""), theirs.spin) is None


def test_what_has_come_in_part_stays_until_all_of_it_has(tmp_path: Path) -> None:
    with ends.rings(tmp_path, 1 << 17) as (ours, theirs):
        payload, place = body(70_000, 7), bytearray(70_000)
        inlet, words = theirs.inlets[0], words_of(theirs.inlets[0])
        assert ours.outlets[1].offer(b"head", memoryview(payload))
        whole = words[inlet._head_word]
        for come in (16, 32, 48, 40_000, whole - 16):
            for head in (come, come | ring.ENDED):
                words[inlet._head_word] = head
                assert inlet.fetch(b"head", memoryview(place), theirs.spin) is None
                assert words[inlet._tail_word] == 0

        class Ending(Spin):
            """The writer leaves while we wait for the rest."""

            def comes(self, word: int, number: int) -> bool:
                self.words[word] |= ring.ENDED * (number > 0)
                return True

        words[inlet._head_word] = 40_000
        assert inlet.fetch(b"head", memoryview(place), Ending(words)) is None
        words[inlet._head_word] = whole
        assert inlet.fetch(b"head", memoryview(place), theirs.spin) == b"head"
        assert place == payload and words[inlet._tail_word] == whole


@pytest.mark.parametrize("word", [0, 1])
@pytest.mark.parametrize("value", [0, 1, 2**40, 2**64 - 1, ring.MARK | MAX_HEADER + 1])
def test_nonsense_is_not_fetched(tmp_path: Path, word: int, value: int) -> None:
    with ends.rings(tmp_path, 4096) as (ours, theirs):
        inlet, place = theirs.inlets[0], memoryview(bytearray(8))
        ours.outlets[1].offer(b"head", memoryview(bytes(8)))
        words_of(inlet)[inlet._at // 8 + word] = value
        assert inlet.fetch(b"", place, theirs.spin) is None


def test_a_message_that_breaks_off_is_never_seen_whole(tmp_path: Path) -> None:
    with ends.rings(tmp_path, 64) as (ours, theirs):
        desk, outlet, inlet = ends.Desk(), ours.outlets[1], theirs.inlets[0]
        assert not outlet.offer(b"head", memoryview(bytes(1000))) and outlet.is_amid
        for _ in range(5):
            inlet.drain(desk)
            outlet.push()
        outlet.end()
        inlet.drain(desk)
        assert desk.begun == [(b"head", 1000)] and desk.whole == []
        assert inlet.is_ended and inlet.is_amid


def test_nothing_is_amid_before_the_first_byte_is_in(tmp_path: Path) -> None:
    with ends.rings(tmp_path, 16) as (ours, theirs):
        outlet, inlet, desk = ours.outlets[1], theirs.inlets[0], ends.Desk()
        assert outlet.offer(b"", memoryview(b""))
        assert not outlet.offer(b"", memoryview(b"dropped"))  # no room for a byte of it
        assert outlet.is_pending and not outlet.is_amid
        assert inlet.drain(desk) == 1
        assert outlet.offer(b"", memoryview(b""))
        assert inlet.drain(desk) == 1 and desk.whole == [(b"", b"")] * 2


def words_of(end: Any) -> memoryview:
    return end._words  # type: ignore[no-any-return]


words = st.one_of(
    st.integers(0, 2**64 - 1), st.sampled_from([2**60, 2**63, 2**64 - 1, 2**64 - 16, 2**63 + 16, 1, 15, 17, 4096, 8192])
)


@given(head=words)
@example(head=2**60)
@example(head=2**64 - 16)  # -16
def test_a_hostile_head_is_refused(tmp_path_factory: pytest.TempPathFactory, head: int) -> None:
    """A head is believed where it lies within the ring, and the messages below it make sense."""
    with ends.rings(tmp_path_factory.mktemp("rings"), 4096) as (_, theirs):
        desk, inlet = ends.Desk(), theirs.inlets[0]
        words_of(inlet)[inlet._head_word] = head
        tracemalloc.start()
        try:
            inlet.drain(desk)
        except Damaged:
            pass
        else:
            assert head in (0, ring.ENDED)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
        assert not desk.begun


@given(first=words, second=words, head=st.integers(1, 256).map(lambda n: 16 * n))
@example(first=ring.MARK | 2**17, second=0, head=4096)
@example(first=ring.MARK, second=2**60, head=16)
@example(first=ring.MARK, second=2**64 - 1, head=16)
@example(first=ring.MARK | MAX_HEADER, second=MAX_PAYLOAD, head=4096)
def test_a_hostile_message_is_refused(
    tmp_path_factory: pytest.TempPathFactory, first: int, second: int, head: int
) -> None:
    with ends.rings(tmp_path_factory.mktemp("rings"), 4096) as (_, theirs):
        desk, inlet = ends.Desk(), theirs.inlets[0]
        inlet._memory[inlet._at : inlet._at + 16] = struct.pack("=QQ", first, second)
        words_of(inlet)[inlet._head_word] = head
        tracemalloc.start()
        try:
            inlet.drain(desk)
        except Damaged as damage:
            assert f"{second}" in f"{damage}" or "0x0 and 0" in f"{damage}"
        else:
            assert ring.MARK <= first <= ring.MARK | MAX_HEADER and second <= MAX_PAYLOAD
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


@given(tail=words)
def test_a_hostile_tail_is_refused(tmp_path_factory: pytest.TempPathFactory, tail: int) -> None:
    """A writer overwrites nothing and waits for nothing because of what a reader claims."""
    with ends.rings(tmp_path_factory.mktemp("rings"), 64) as (ours, _):
        outlet = ours.outlets[1]
        assert not outlet.offer(b"", memoryview(bytes(100)))  # 64 of 128 bytes are in
        words_of(outlet)[outlet._tail_word] = tail
        if tail in (0, 16, 32, 48, 64):
            outlet.push()
        else:
            with pytest.raises(Damaged, match=f"{tail}"):
                outlet.push()


def test_where_stores_may_pass_each_other_a_barrier_stands_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ring, "IS_ORDERED", False)
    with ends.rings(tmp_path, 64) as (ours, theirs):
        desk, outlet, inlet = ends.Desk(), ours.outlets[1], theirs.inlets[0]
        seen: list[int] = []
        outlet._fence = lambda: seen.append(words_of(outlet)[outlet._head_word])
        assert outlet.offer(b"", memoryview(b"1234"))
        assert seen == [0] and words_of(outlet)[outlet._head_word] == 32
        assert inlet._fence is not None
        assert inlet.drain(desk) == 1 and desk.whole == [(b"", b"1234")]


def test_a_pulse_is_seen_by_the_other(tmp_path: Path) -> None:
    with ends.rings(tmp_path, 64) as (ours, theirs):
        before = theirs.pulse(0)
        ours.beat()
        assert theirs.pulse(0) != before


def test_a_full_disk_is_an_error_when_the_file_is_made(tmp_path: Path) -> None:
    """Not a signal that kills the process at its first write into a hole."""
    with pytest.raises(OSError), ends.rings(tmp_path, 1 << 55):
        pass
    assert not list(tmp_path.iterdir())


def test_a_disk_that_has_less_is_not_filled_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would take all that is left before it refuses: other programs would find a full disk."""
    allocated = mock.Mock()
    monkeypatch.setattr(os, "posix_fallocate", allocated, raising=False)
    with pytest.raises(OSError, match="No space left"), ends.rings(tmp_path, 1 << 42):
        pass
    assert not allocated.called and not list(tmp_path.iterdir())
