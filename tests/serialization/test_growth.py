"""What a file costs grows as the file does: counted in calls, for files of n and of 2n parts."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist import SerializationError
from minitorch_dist.distributed.checkpoint import CheckpointException, index
from minitorch_dist.serialization import alike, strict_json
from tests.serialization.test_damage import F32, WINDOW, ours, pack

EMPTY = json.dumps({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})


def header(names: list[str], about: str = EMPTY) -> bytes:
    return pack(f"{{{', '.join(f'{json.dumps(name)}: {about}' for name in names)}}}".encode())


def names(n: int) -> list[str]:
    return [f"k{number}" for number in range(n)]


def leaves(n: int, about: Any) -> bytes:
    return ours([about] * n, ["list", [["leaf", number] for number in range(n)]])


def of_one_hash(n: int) -> list[Any]:
    return [["int", hex(number * ((1 << 61) - 1))] for number in range(n)]


FILES: dict[str, Callable[[int], bytes]] = {
    "entries": lambda n: header(names(n)),
    "the last name is doubled": lambda n: header([*names(n - 1), f"k{n - 2}"]),
    "the first name is doubled": lambda n: header([*names(n - 1), "k0"]),
    "names in an entry": lambda n: header(["x"], header([*names(n - 1), "k0"])[8:].decode()),
    "all overlap": lambda n: header(names(n), json.dumps(F32)),
    "leaves": lambda n: leaves(n, {"in": "x"}),
    "parameters": lambda n: leaves(n, {"in": "x", "kind": "parameter"}),
    "windows": lambda n: leaves(n, WINDOW),
    "leaves of nothing": lambda n: leaves(n, {"in": "y"}),
    "one leaf, many times": lambda n: ours([{"in": "x"}], ["list", [["leaf", 0]] * n]),
    "numbers": lambda n: ours([], ["list", [["int", "0x1"]] * n]),
    "a set of one hash": lambda n: ours([], ["set", of_one_hash(n)]),
    "a dict of one hash": lambda n: ours([], ["dict", [[key, 0] for key in of_one_hash(n)]]),
    "a counter of one hash": lambda n: ours([], ["counter", [[key, 0] for key in of_one_hash(n)]]),
    "complex numbers of one hash": lambda n: ours(
        [], ["frozenset", [["complex", str(-1000003.0 * k), str(float(k))] for k in range(n)]]
    ),
    "bytes": lambda n: ours([], ["bytes", "AAAA" * n]),
    "digits": lambda n: ours([], ["int", "0x" + "f" * n]),
    "digits of a float": lambda n: pack(b'{"x": 0.' + b"1" * n + b"}"),
    "brackets": lambda n: pack(b"[" * n),
}


def steps_of(act: Callable[[], Any]) -> int:
    count = 0

    def counting(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        with suppress(SerializationError, CheckpointException):
            act()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str) -> None:
    small, large = FILES[name](1000), FILES[name](2000)
    mtd.load(io.BytesIO(FILES["leaves"](3)))  # what is only done the first time
    one, two = (steps_of(lambda c=c: mtd.load(io.BytesIO(c))) for c in (small, large))  # type: ignore[misc]
    assert two <= 2.2 * one + 50
    tracemalloc.start()
    try:
        with suppress(SerializationError):
            mtd.load(io.BytesIO(large))
        assert tracemalloc.get_traced_memory()[1] < 60 * len(large) + 10**6
    finally:
        tracemalloc.stop()


def checkpoint(n: int, kind: str) -> bytes:
    chunks = [{"file": "f", "offsets": [k], "sizes": [1]} for k in range(n)]
    one = {"shape": [n], "dtype": "float32", "chunks": chunks}
    tensors: dict[str, Any] = {"x": one}
    if kind == "tensors":
        tensors = {name: {"shape": [], "dtype": "float32", "chunks": []} for name in names(n)}
    found = {"format": index.FORMAT, "generation": "g", "tensors": tensors, "values": {}, "paths": {}}
    if kind == "values":
        found["values"], found["paths"] = dict.fromkeys(names(n), 1), {k: [k] for k in names(n)}
    text = json.dumps(found)
    return text.replace('"k0"', '"k1"', 1).encode() if kind == "doubled" else text.encode()


@pytest.mark.parametrize("kind", ["chunks", "tensors", "values", "doubled"])
def test_the_index_of_a_checkpoint(kind: str) -> None:
    def read(n: int) -> None:
        for name, saved in index.parsed(checkpoint(n, kind)).tensors.items():
            index.check_cover(name, saved.shape, [chunk.box for chunk in saved.chunks])

    made = {n: checkpoint(n, kind) for n in (1000, 2000)}
    steps = {n: steps_of(lambda n=n: index.parsed(made[n])) for n in made}  # type: ignore[misc]
    assert steps[2000] <= 2.2 * steps[1000] + 50
    if kind == "chunks":
        assert steps_of(lambda: read(2000)) <= 2.2 * steps_of(lambda: read(1000)) + 50


class Name(str):
    """A text that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)  # type: ignore[no-any-return]


def test_a_doubled_name_is_not_compared_with_all_others() -> None:
    items: list[tuple[str, Any]] = [(Name(f"k{n}"), 0) for n in range(20_000)]
    Name.compared = 0
    assert len(strict_json._table(items)) == len(items)
    with pytest.raises(ValueError, match="the name 'k19999' occurs twice"):
        strict_json._table([*items, (Name("k19999"), 1)])
    assert Name.compared < 1000


def test_tables_whose_keys_have_one_hash_are_refused() -> None:
    for tag in ("set", "frozenset", "dict", "odict", "counter"):
        keys = of_one_hash(400)
        content = ours([], [tag, keys if "set" in tag else [[key, 0] for key in keys]])
        with pytest.raises(SerializationError, match="keys have the same hash"):
            mtd.load(io.BytesIO(content))
    assert len(mtd.load(io.BytesIO(ours([], ["set", of_one_hash(60)])))) == 60
    alike.check([str(n) for n in range(10_000)])
    alike.check(list(range(10_000)))


def test_strict_json() -> None:
    assert strict_json.loads('{"a": [1, NaN]}')["a"][0] == 1
    for text in ('{"a": 1, "a": 1}', "[" * 100_000, "1" * 5000, b"\xff", "", "{", "nul"):
        with pytest.raises(ValueError, match=r"."):
            strict_json.loads(text)
    with pytest.raises(ValueError, match="NaN is not JSON"):
        strict_json.loads("NaN", may_have_nan=False)
