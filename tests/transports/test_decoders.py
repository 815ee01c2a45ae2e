"""Hostile bytes: every decoder returns what is right or raises what it says, and allocates nothing.

`fuzz` runs one of them many times; `python -m tests.transports.test_decoders 1000000` runs all.
"""

from __future__ import annotations

import random
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from transports import frames
from transports.clock import SYSTEM
from transports.conformance.bench import Tray, pattern
from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.errors import DistError, DistStoreError, StoreTimeout, TrustError
from transports.frames import FrameError
from transports.sockets import handshake
from transports.sockets.handshake import Claim
from transports.sockets.links import PeerConnection
from transports.stores import protocol
from transports.stores.key_values import OPERATIONS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest

KEY, OTHER = b"k" * 32, b"o" * 32
GREETING = handshake.greet()
HELLO, WELCOME = handshake.answer(KEY, GREETING, Claim(1, 0, b"world"))


def test_both_sides_are_convinced() -> None:
    claim, welcome = handshake.judge(KEY, GREETING, HELLO)
    assert claim == Claim(1, 0, b"world") and handshake.is_welcome(WELCOME, welcome)
    assert len(GREETING) == handshake.GREETING_LENGTH and len(HELLO) == handshake.HELLO_LENGTH


def test_another_key_a_replay_and_a_reflection_prove_nothing() -> None:
    with pytest.raises(TrustError, match="key"):
        handshake.judge(OTHER, GREETING, HELLO)
    with pytest.raises(TrustError, match="key"):
        handshake.judge(KEY, handshake.greet(), HELLO)  # what was recorded from an earlier one
    assert not handshake.is_welcome(WELCOME, HELLO[-handshake.MAC :])
    _, answered = handshake.answer(OTHER, GREETING, Claim(1, 0))
    assert not handshake.is_welcome(WELCOME, answered)
    assert not handshake.is_welcome(WELCOME, handshake.REFUSAL)
    with pytest.raises(TrustError, match="no listener of ours"):
        handshake.answer(KEY, b"SSH-2.0-OpenSSH_9.2 Debian-2+deb12u3   \r\n", Claim(1, 0))


@given(st.integers(0, handshake.HELLO_LENGTH - 1), st.integers(1, 255))
def test_every_byte_of_a_hello_counts(place: int, change: int) -> None:
    changed = bytearray(HELLO)
    changed[place] ^= change
    with pytest.raises(TrustError):
        handshake.judge(KEY, GREETING, bytes(changed))


REQUESTS = st.builds(
    StoreRequest,
    st.sampled_from([*OPERATIONS, "nonsense", ""]),
    st.lists(st.text(max_size=8), max_size=4),
    st.lists(st.binary(max_size=8), max_size=4),
    st.floats(0, 1e6) | st.just(float("inf")),
)


@given(REQUESTS)
def test_requests_come_back(request: StoreRequest) -> None:
    frame = protocol.pack_request(request)
    assert protocol.frame_length(frame) == len(frame)
    assert protocol.frame_length(frame[: frames.LENGTH - 1]) is None
    assert protocol.unpack_request(frame[frames.LENGTH :]) == request


@given(st.lists(st.binary(max_size=9), max_size=5), st.lists(st.text(max_size=9), max_size=4))
def test_answers_come_back(values: list[bytes], names: list[str]) -> None:
    def there_and_back(answer: Any) -> list[bytes]:
        frame = protocol.pack_answer(answer)
        return protocol.unpack_answer(frame[frames.LENGTH :], 3.0)

    assert there_and_back(values) == values
    with pytest.raises(StoreTimeout) as caught:
        there_and_back(StoreTimeout(3.0, names[:2], names[2:], "advice"))
    assert (caught.value.missing, caught.value.present) == (names[:2], names[2:])
    assert caught.value.note == "advice"


@pytest.mark.parametrize("seconds", ["inf", "-inf", "1e308", "-1", "0"])
def test_a_peer_may_name_any_number_of_seconds(seconds: str) -> None:
    """The words of a timeout hold it, so that its server answers."""
    request = protocol.pack([b"get", seconds.encode(), b"1", b"key"])[frames.LENGTH :]
    asked = protocol.unpack_request(request)
    assert "waited" in str(StoreTimeout(asked.seconds, asked.keys, [], "advice"))


def test_a_length_of_2_to_the_60_is_refused_before_it_is_believed() -> None:
    huge = struct.pack("<2sHIQ", b"mt", 1, 10, 1 << 60)
    for decode in (frames.unpack, protocol.frame_length):
        with pytest.raises(FrameError, match="more than"):
            decode(huge)  # type: ignore[operator]
    with pytest.raises(FrameError):
        protocol.unpack(struct.pack("<I", 0xFFFFFFFF) + bytes(40))
    with pytest.raises(FrameError, match="another version"):
        frames.unpack(b"GET / HTTP/1.1\r\n")


def test_a_push_of_nothing_makes_no_queue() -> None:
    key_values = KeyValues()
    with pytest.raises(DistStoreError):
        key_values.do("queue_push", ["a"], [])
    assert not key_values.queues and key_values.do("check", ["a"], []) == [b"0"]


# -- each decoder, given bytes that a stranger made up -----------------------------------------


def feed_frame(data: bytes) -> None:
    if len(data) >= frames.LENGTH:
        header, payload = frames.unpack(data)
        assert header <= MAX_HEADER and payload <= MAX_PAYLOAD


def feed_hello(data: bytes) -> None:
    handshake.judge(KEY, GREETING, data)
    raise AssertionError("somebody without the key got in")


def feed_greeting(data: bytes) -> None:
    handshake.answer(KEY, data, Claim(0, 0))


def feed_request(data: bytes) -> None:
    request = protocol.unpack_request(data)
    key_values = KeyValues()
    key_values.values["k"] = b"1"
    try:
        key_values.do(*request[:3])
    except NotYet as need:
        assert need.missing


def feed_answer(data: bytes) -> None:
    protocol.unpack_answer(data, 1.0)


ENDS = list[Any]()


def feed_stream(data: bytes) -> None:
    """A whole link: what comes over the wire after the handshake."""
    if not ENDS:
        ENDS.extend(socket.socketpair())
        ENDS[1].setblocking(False)
    tray = Tray(lambda n: n % 2 == 0)
    sink = tray.sink
    tray.sink = lambda src, header, nbytes: sink(src, header, min(nbytes, 1 << 16))  # type: ignore[method-assign]
    link = PeerConnection(1, ENDS[1], ENDS[1], SYSTEM)
    for start in range(0, len(data), 37):
        ENDS[0].send(data[start : start + 37])
        try:
            link.receive(tray, memoryview(bytearray(64)))
        except FrameError:
            _drain(ENDS[1])
            raise
    _drain(ENDS[1])


def _drain(end: Any) -> None:
    try:
        while end.recv(1 << 16):
            pass
    except BlockingIOError:
        return


DECODERS: list[tuple[Callable[[bytes], None], bytes]] = [
    (feed_frame, frames.pack(3, 5)),
    (feed_hello, HELLO),
    (feed_greeting, GREETING),
    (feed_request, protocol.pack_request(StoreRequest("add", ["k"], [b"1"], 3.0))[16:]),
    (feed_answer, protocol.pack_answer(StoreTimeout(1, ["a"], ["b"], "n"))[16:]),
    (feed_stream, frames.pack(3, 90) + b"abc" + bytes(90) + frames.pack(0, 0) * 3),
]
ALLOWED = (DistError, TrustError)


def teardown_module() -> None:
    while ENDS:
        ENDS.pop().close()


@pytest.mark.parametrize("decoder", range(len(DECODERS)))
@given(data=st.data())
def test_made_up_bytes(decoder: int, data: st.DataObject) -> None:
    feed, valid = DECODERS[decoder]
    made_up = data.draw(st.binary(max_size=120) | mutated(valid))
    if feed is feed_hello and made_up == valid:
        return
    try:
        feed(made_up)
    except ALLOWED:
        pass
    finally:
        teardown_module()


def mutated(valid: bytes) -> st.SearchStrategy[bytes]:
    """Something valid with a few bytes changed, cut or repeated."""
    places = st.lists(st.tuples(st.integers(0, len(valid) - 1), st.integers(0, 255)), max_size=4)
    cuts = st.integers(0, 2 * len(valid))

    def mutate(changes: list[tuple[int, int]], cut: int) -> bytes:
        changed = bytearray(valid)
        for place, value in changes:
            changed[place] = value
        return bytes((changed + changed)[:cut])

    return st.builds(mutate, places, cuts)


@given(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 300)), max_size=8), st.data())
def test_messages_cut_anywhere_arrive_whole(sizes: list[tuple[int, int]], data: Any) -> None:
    sent = [(pattern(n, h), pattern(n + 1, p)) for n, (h, p) in enumerate(sizes)]
    stream = b"".join(frames.pack(len(h), len(p)) + h + p for h, p in sent)
    tray = Tray(lambda n: n % 2 == 0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        link = PeerConnection(1, ours, ours, SYSTEM)
        while stream:
            cut = data.draw(st.integers(1, len(stream)))
            theirs.send(stream[:cut])
            stream = stream[cut:]
            link.receive(tray, memoryview(bytearray(64)))
        assert tray.messages.get(1, []) == sent and not tray.complaints


def fuzz(runs: int) -> None:
    """Without Hypothesis, which is too slow for millions: random bytes and random mutations."""
    draw = random.Random(20)
    for feed, valid in DECODERS:
        start, raised = time.time(), 0
        for _ in range(runs):
            if draw.random() < 0.3:
                made_up = draw.randbytes(draw.randrange(120))
            else:
                changed = bytearray(valid * draw.choice((1, 1, 1, 2)))
                for _ in range(draw.randrange(4)):
                    changed[draw.randrange(len(changed))] = draw.choice((0, 255, draw.randrange(256)))
                made_up = bytes(changed[: draw.choice((len(changed), draw.randrange(len(changed))))])
            if feed is feed_hello and made_up == valid:
                continue
            try:
                feed(made_up)
            except ALLOWED:
                raised += 1
        print(f"{feed.__name__}: {runs} inputs, {raised} refused, {time.time() - start:.0f} s")
    teardown_module()


def test_a_short_run_of_the_long_fuzz(capsys: pytest.CaptureFixture[str]) -> None:
    fuzz(2000)
    assert capsys.readouterr().out.count("2000 inputs") == len(DECODERS)


if __name__ == "__main__":
    fuzz(int(sys.argv[1]))
