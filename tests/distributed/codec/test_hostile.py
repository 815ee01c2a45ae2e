"""Whatever the bytes are: a value or a `CodecError`, little memory, no import, no call.

python -m tests.distributed.codec.test_hostile 1000000      the long run, of each kind
"""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from minitorch_dist.distributed import codec
from minitorch_dist.distributed.codec import kinds, trust
from tests.distributed.codec import values
from tests.distributed.codec.built import built

FULL = codec.Trust.FULL
SEEDS = [bytes(codec.pack(value, FULL)) for value in values.samples()]
PICKLED = [bytes(codec.pack(v, FULL)) for v in (values.Point(1, 2), values.Point.origin, os.getcwd)]


def mutated(random: Random, seeds: list[bytes]) -> bytes:
    """One seed, bent: bytes changed, cut, repeated, joined with another."""
    octets = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(octets) + 1)
        match random.randrange(6):
            case 0 if at < len(octets):
                octets[at] = random.randrange(256)
            case 1:
                octets[at:at] = random.randbytes(random.randint(1, 8))
            case 2:
                del octets[at : at + random.randint(1, 8)]
            case 3:
                octets[at : at + 4] = struct.pack("<I", random.choice([0, 1, 2**31, 2**32 - 1]))
            case 4:
                octets[at : at + 8] = struct.pack("<q", random.choice([-1, 1, 2**40, 2**62]))
            case _:
                other = random.choice(seeds)
                octets[at:] = other[random.randrange(len(other)) :]
    if len(octets) >= 12 and random.random() < 0.8:  # let the frame fit, so that it gets further in
        count = min(struct.unpack_from("<I", octets, 8)[0], 3)
        if len(octets) >= 12 + 8 * count:
            octets[8:12] = struct.pack("<I", count)
            sizes = struct.unpack_from(f"<{count}Q", octets, 12)
            rest = len(octets) - 12 - 8 * count - sum(sizes)
            if rest >= 0:
                octets[:8] = struct.pack("<Q", rest)
    return bytes(octets)


def attempt(octets: bytes) -> bool:
    """Whether these bytes were a value."""
    try:
        codec.unpack(octets, trust.of_peers())
    except codec.CodecError:
        return False
    return True


def framed(random: Random) -> bytes:
    """A message that is built of the format's own words, in the wrong places."""
    meta = built(random)
    return struct.pack("<QI", len(meta), 0) + meta


def bent(random: Random) -> bytes:
    return mutated(random, SEEDS + PICKLED)


def campaign(count: int, seed: int, make: Callable[[Random], bytes]) -> tuple[int, int]:
    """How many were values, and how many were not."""
    random = Random(seed)
    good = sum(attempt(make(random)) for _ in range(count))
    return good, count - good


@pytest.fixture(params=["0", None])
def no_pickle(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pickle is forbidden to peers, or nobody is a peer; imports and calls of what was not registered
    would be seen."""
    if request.param is None:
        monkeypatch.delenv(trust.VARIABLE, raising=False)
        monkeypatch.setattr(trust, "of_peers", lambda: codec.Trust.VALUES)
    else:
        monkeypatch.setenv(trust.VARIABLE, request.param)
    values.called.clear()
    modules = set(sys.modules)
    calls: list[Any] = []

    def refuse(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        raise AssertionError(f"an import was caused: {args}")

    monkeypatch.setattr("minitorch_dist.distributed.codec.names.import_module", refuse)
    monkeypatch.setattr("minitorch_dist.distributed.codec.pickled._Unpickler", refuse)
    yield
    monkeypatch.undo()
    assert not calls and not values.called
    assert set(sys.modules) == modules


def test_bent_messages(no_pickle: None) -> None:
    good, bad = campaign(4000, 1, bent)
    assert good > 100 and bad > 1000


def test_built_messages(no_pickle: None) -> None:
    good, bad = campaign(6000, 3, framed)
    assert good > 300 and bad > 2000


def test_random_bytes(no_pickle: None) -> None:
    random = Random(2)
    bodies = (random.randbytes(random.randrange(40)) for _ in range(4000))
    good = sum(attempt(struct.pack("<QI", len(body), 0) + body) for body in bodies)
    assert good < 200  # short numbers


def test_every_kind_with_nothing_and_with_huge_counts(no_pickle: None) -> None:
    tracemalloc.start()
    try:
        for kind in range(256):
            for rest in (b"", b"\xff" * 4, b"\xff" * 40, b"\xff\xff\xff\x7f" * 4, b"\0" * 20):
                attempt(struct.pack("<QI", 1 + len(rest), 0) + bytes([kind]) + rest)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_deep_nesting_is_refused() -> None:
    for kind, count in ((kinds.TUPLE, b"\1\0\0\0"), (kinds.SLICE, b""), (kinds.LIST, b"\1\0\0\0")):
        with pytest.raises(codec.DamagedEncoding):
            codec.decode((bytes([kind]) + count) * 100_000)


def test_an_array_cannot_promise_more_than_it_brings() -> None:
    octets = bytearray(codec.encode(values.samples()[21])[0])
    octets[3:11] = struct.pack("<q", 1 << 40)
    with pytest.raises(codec.DamagedEncoding):
        codec.decode(octets)


def test_what_follows_the_value_is_refused() -> None:
    with pytest.raises(codec.DamagedEncoding, match="follow the value"):
        codec.decode(codec.encode(1)[0] + b"\0")
    with pytest.raises(codec.DamagedEncoding, match="1 buffers follow"):
        codec.decode(codec.encode(1)[0], [memoryview(b"x")])


def steps_of(octets: bytes) -> int:
    """How many calls it takes to read these bytes."""
    count = 0

    def counting(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        attempt(octets)
    finally:
        sys.setprofile(None)
    return count


def long_message(shape: str, n: int) -> bytes:
    """Messages of about n parts, each of a kind that could cost more than its length."""
    match shape:
        case "ints":
            value: Any = list(range(n))
        case "one hash":
            value = {k * ((1 << 61) - 1): None for k in range(min(n, 60))} | dict.fromkeys(range(n))
        case "the same again":
            inner: list[Any] = []
            for _ in range(100):
                inner = [inner, inner]
            value = [inner] * n
        case "tuples in tuples":
            value = ()
            for _ in range(150):
                value = (value, 1)
            value = {(value, k) for k in range(n // 100)}
        case "tensors":
            value = values.samples()[24:27] * n
        case _:
            value = [ValueError("x", k) for k in range(n)]
    return codec.pack(value, FULL)


SHAPES = ("ints", "one hash", "the same again", "tuples in tuples", "tensors", "exceptions")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_grows_as_the_message(shape: str, no_pickle: None) -> None:
    small, large = long_message(shape, 1000), long_message(shape, 2000)
    assert steps_of(large) < 1.3 * len(large) / len(small) * steps_of(small) + 100


def colliding(count: int, kind: int) -> bytes:
    """A table whose keys all have the same hash: k·(2**61 - 1), as whole numbers and inside of tuples."""
    items = bytearray()
    for k in range(1, count + 1):
        number = (k * ((1 << 61) - 1)).to_bytes(12, "little", signed=True)
        items += kinds.KIND_AND_COUNT.pack(kinds.BIG, 12) + number
        if kind == kinds.DICT:
            items.append(kinds.NONE)
    meta = kinds.KIND_AND_COUNT.pack(kind, count) + bytes(items)
    return struct.pack("<QI", len(meta), 0) + meta


@pytest.mark.parametrize("kind", [kinds.DICT, kinds.SET, kinds.FROZENSET, kinds.ORDERED])
def test_keys_of_one_hash_are_refused(kind: int) -> None:
    if kind != kinds.ORDERED:
        assert len(codec.unpack(colliding(60, kind))) == 60
    with pytest.raises(codec.DamagedEncoding, match="more than 64 keys have the same hash"):
        codec.unpack(colliding(30_000, kind))


def test_an_error_says_little_of_much() -> None:
    """Not all digits of a number, and not all that a value holds: one that holds itself twice, and so on."""
    huge: Any = 1 << 100_000
    laughs: Any = []
    for _ in range(60):
        laughs = [laughs, laughs]
    nothing, empty = bytes([kinds.NONE]), bytes(codec.encode({})[0])
    for part in (huge, laughs, "x" * 100_000):
        value = bytes(codec.encode((part,))[0][5:])  # without the tuple
        three = kinds.KIND_AND_COUNT.pack(kinds.TUPLE, 3) + value + 2 * nothing
        for meta in (
            bytes([kinds.SIZE]) + three[1:],
            bytes([kinds.RANGE]) + three[5:],
            bytes([kinds.EXCEPTION]) + nothing + three + empty + bytes(8),
        ):
            with pytest.raises(codec.DamagedEncoding) as caught:
                codec.decode(meta)
            assert len(str(caught.value)) < 400


def test_an_exception_cannot_hide_its_methods_or_bring_odd_notes() -> None:
    for attributes in ({"add_note": 1}, {"__notes__": 3}, {"__notes__": [1]}, {3: 4}, {"args": print}):
        meta = bytearray([kinds.EXCEPTION])
        for part in (ValueError, (), attributes):
            meta += codec.encode(part, FULL)[0]
        meta += bytes(8)
        if attributes == {"args": print}:
            assert codec.decode(meta, trust=FULL).args == ()
        else:
            with pytest.raises(codec.DamagedEncoding, match="attributes"):
                codec.decode(meta, trust=FULL)


if __name__ == "__main__":
    os.environ[trust.VARIABLE] = "0"
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for make in (bent, framed):
        print(make.__name__, campaign(int(sys.argv[1]), seed, make))
