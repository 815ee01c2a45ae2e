"""Whatever the bytes are: a value or a `CodecError`, little memory, no import, no call.

python -m tests.distributed.codec.test_hostile 1000000      the long run
"""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from minitorch_dist.distributed import codec
from minitorch_dist.distributed.codec import kinds, trust
from tests.distributed.codec import values

SEEDS = [bytes(codec.pack(value)) for value in values.samples()]
PICKLED = [bytes(codec.pack(v)) for v in (values.Point(1, 2), values.Point.origin, os.getcwd)]


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
        codec.unpack(octets)
    except codec.CodecError:
        return False
    return True


def campaign(count: int, seed: int, seeds: list[bytes]) -> tuple[int, int]:
    """How many were values, and how many were not."""
    random = Random(seed)
    good = sum(attempt(mutated(random, seeds)) for _ in range(count))
    return good, count - good


@pytest.fixture
def no_pickle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pickle is forbidden; imports and calls of what was not registered would be seen."""
    monkeypatch.setenv(trust.VARIABLE, "0")
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
    good, bad = campaign(4000, 1, SEEDS + PICKLED)
    assert good > 100 and bad > 1000


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
        with pytest.raises(codec.Damaged):
            codec.decode((bytes([kind]) + count) * 100_000)


def test_an_array_cannot_promise_more_than_it_brings() -> None:
    octets = bytearray(codec.encode(values.samples()[21])[0])
    octets[3:11] = struct.pack("<q", 1 << 40)
    with pytest.raises(codec.Damaged):
        codec.decode(octets)


def test_what_follows_the_value_is_refused() -> None:
    with pytest.raises(codec.Damaged, match="follow the value"):
        codec.decode(codec.encode(1)[0] + b"\0")
    with pytest.raises(codec.Damaged, match="1 buffers follow"):
        codec.decode(codec.encode(1)[0], [memoryview(b"x")])


if __name__ == "__main__":
    os.environ[trust.VARIABLE] = "0"
    print(campaign(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, SEEDS + PICKLED))
