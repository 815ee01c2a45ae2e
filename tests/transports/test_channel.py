"""The channel's rules without a network: frames, flow, addresses."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.mqtt_protocol import address, frames
from transports.mqtt_protocol.flow import IncomingFlow, Outgoing
from transports.mqtt_protocol.frames import Frame, FrameRefused

KEY = bytes(range(32))
NUMBERS = st.integers(0, 2**64 - 1)
FRAMES = st.builds(
    Frame,
    kind=st.sampled_from(list(frames.KINDS)),
    src=st.integers(0, 2**32 - 1),
    dst=st.integers(0, 2**32 - 1),
    mark=NUMBERS,
    peer_mark=NUMBERS,
    flags=st.integers(0, 255),
    seq=NUMBERS,
    acked=NUMBERS,
    limit=NUMBERS,
    header_length=st.just(0),
    total=st.integers(0, MAX_PAYLOAD),
    body=st.just(memoryview(b"")),
)


@given(FRAMES, st.lists(st.binary(max_size=40), max_size=3))
def test_frames_come_back(frame: Frame, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    frame = frame._replace(header_length=len(whole) // 2)
    back = frames.unseal(KEY, frames.seal(KEY, frame, *pieces))
    assert bytes(back.body) == whole and back._replace(body=frame.body) == frame


@given(st.binary(max_size=200))
def test_bytes_of_others_are_refused(data: bytes) -> None:
    for start in (b"", b"mq\x01\x03", b"mq\x01\x03" + bytes(80)):
        with pytest.raises(FrameRefused):
            frames.unseal(KEY, start + data)


@given(FRAMES, st.binary(max_size=40), st.data())
def test_what_was_changed_is_refused(frame: Frame, body: bytes, data: st.DataObject) -> None:
    sealed = frames.seal(KEY, frame, body)
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(FrameRefused, match=r"seal|foreign"):
        frames.unseal(KEY, sealed)
    sealed = frames.seal(KEY, frame, body)
    with pytest.raises(FrameRefused):
        frames.unseal(KEY, sealed[: data.draw(st.integers(0, len(sealed) - 1))])
    with pytest.raises(FrameRefused, match="seal"):
        frames.unseal(bytes(32), sealed)


@pytest.mark.parametrize(
    "impossible",
    [
        {"kind": 0},
        {"kind": 99},
        {"header_length": 6},
        {"header_length": MAX_HEADER + 1},
        {"total": MAX_PAYLOAD + 1},
        {"total": 2**60},
    ],
)
def test_a_member_cannot_announce_the_impossible(impossible: dict[str, int]) -> None:
    frame = Frame(frames.DATA, 0, 1, 2, 3)._replace(**impossible)  # type: ignore[arg-type]
    with pytest.raises(FrameRefused, match="impossible"):
        frames.unseal(KEY, frames.seal(KEY, frame, b"12345"))


def test_keys_differ_by_run() -> None:
    assert len({frames.run_key(run) for run in ("a", "b", "mtd/a")}) == 3


# -- flow -----------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(st.sampled_from(["send", "carry", "drop", "twice", "swap", "take", "tell", "repeat"]), st.integers(0, 3)),
    max_size=120,
)


@given(EVENTS, st.integers(1, 5))
def test_everything_arrives_once_and_in_order(events: list[tuple[str, int]], window: int) -> None:
    """Whatever the medium does; and at most a window is ever on its way or waiting."""
    link = Link(window)
    for name, place in events:
        getattr(link, name)(place)
        link.check()
    while len(link.delivered) < link.sent:  # from now on the medium is kind
        link.repeat()
        link.tell()
        while link.there or link.back:
            link.carry(0)
        link.take()
        link.check()
    assert link.delivered == list(range(link.sent))


class Link:
    """A sender, a receiver, and a medium between them that can do anything but invent."""

    def __init__(self, window: int) -> None:
        self.window, self.outgoing, self.incoming = window, Outgoing(window), IncomingFlow(window)
        self.there: list[int] = []
        self.back: list[tuple[int, int]] = []
        self.waiting: list[int] = []
        self.delivered: list[int] = []
        self.sent = 0

    def send(self, place: int) -> None:
        if self.outgoing.has_room():
            assert self.outgoing.next == self.sent
            self.outgoing.push(bytearray(b"%d" % self.sent))
            self.there.append(self.sent)
            self.sent += 1

    def carry(self, place: int) -> None:
        if self.there:
            seq = self.there.pop(place % len(self.there))
            if self.incoming.accept(seq):
                self.waiting.append(seq)
        if self.back:
            self.outgoing.acknowledge(*self.back.pop(place % len(self.back)))

    def drop(self, place: int) -> None:
        for medium in (self.there, self.back):
            if medium:
                medium.pop(place % len(medium))

    def twice(self, place: int) -> None:
        self.there.extend(self.there[place : place + 2])
        self.back.extend(self.back[place : place + 2])

    def swap(self, place: int) -> None:
        self.there.reverse()
        self.back.reverse()

    def take(self, place: int = 0) -> None:
        self.delivered += self.waiting
        self.incoming.taken += len(self.waiting)
        self.waiting = []

    def tell(self, place: int = 0) -> None:
        self.back.append(self.incoming.tell())

    def repeat(self, place: int = 0) -> None:
        self.there += [int(frame) for frame in self.outgoing.unacknowledged]

    def check(self) -> None:
        assert len(self.outgoing.unacknowledged) <= self.window
        assert len(self.waiting) <= self.window
        assert self.outgoing.limit <= self.incoming.limit


@given(st.integers(-3, 12), st.integers(-3, 12))
def test_lies_about_numbers_change_nothing(acked: int, limit: int) -> None:
    outgoing = Outgoing(4)
    for _ in range(3):
        outgoing.push(bytearray())
    known = outgoing.acknowledge(acked, limit)
    assert outgoing.next == 3 and outgoing.limit >= 4
    assert known == (0 <= acked <= 3 and (acked > 0 or limit > 4))
    assert outgoing.first == (acked if 0 <= acked <= 3 else 0)


# -- addresses ------------------------------------------------------------------------------


def test_addresses() -> None:
    place = address.parse("mqtt://me:s%40cret@[::1]:99/team/a?chunk=131072&broker_timeout=5&tls=1")
    assert (place.host, place.port, place.run) == ("::1", 99, "team/a")
    assert (place.username, place.password) == ("me", "s@cret")
    assert (place.chunk, place.broker_timeout, place.tls) == (131072, 5.0, True)
    assert place.shown == "mqtt://[::1]:99"
    bare = address.parse("mqtt://")
    assert (bare.host, bare.port, bare.username, bare.chunk) == ("", 1883, None, 256 << 10)
    assert address.parse("mqtt://host?tls=1").port == 8883


@pytest.mark.parametrize(
    "wrong",
    [
        "x:y@host?chunks=1",
        "x:y@host?chunk=1",
        "x:y@host?chunk=ten",
        "x:y@host:port",
        "x:y@host?broker_timeout=0",
        "x:y@host?broker_timeout=nan",
    ],
)
def test_addresses_that_mean_nothing(wrong: str) -> None:
    with pytest.raises(ValueError, match="mqtt://…@host") as caught:
        address.parse(f"mqtt://{wrong}")
    assert "x:y" not in str(caught.value)
