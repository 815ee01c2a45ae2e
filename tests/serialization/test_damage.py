"""Truncated, foreign and hostile files: one clear error, and no memory spent on promises."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
import zipfile
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist import SerializationError
from minitorch_dist.nn.parameter import Parameter

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def pack(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def ours(about: Any, tree: Any = ("leaf", 0), **entries: Any) -> bytes:
    """A file with our side in it, and 8 bytes of data for the entry `x`."""
    side = json.dumps({"version": 1, "object": tree, "leaves": about})
    return pack({"__metadata__": {"minitorch_dist": side}, "x": F32, **entries}, bytes(8))


def refuse(content: bytes, says: str, tmp_path: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(SerializationError, match=says) as error:
        mtd.load(path)
    assert str(error.value).startswith("The file cannot be loaded: ")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it has 0 bytes"),
        (b"1234567", "it has 7 bytes"),
        (bytes(8), "header is not valid JSON"),
        ((2**60).to_bytes(8, "little") + b"{}", "announce a header of 1,152,921,504,606,846,976"),
        ((2**64 - 1).to_bytes(8, "little"), "announce a header"),
        (b"hello world, this is a text", "announce a header"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "announce a header"),
        (pack(b"[1, 2]"), "its header is a JSON list"),
        (pack(b'{"a": NaN}'), "NaN is not JSON"),
        (pack(b"{" * 10), "not valid JSON"),
        (pack(b'{"\xff": 1}'), "not valid JSON .*utf-8"),
        (pack(b"[" * 100_000), "not valid JSON"),
        (pack(b'{"a":' * 50_000), "not valid JSON"),
        (pack(b'{"x": 1, "x": 2}'), "the name 'x' occurs twice"),
        (pack(b'{"x": {"dtype": "F32", "dtype": "F32"}}'), "the name 'dtype' occurs twice"),
        (pack(b"1" * 5000), "not valid JSON"),
        (pack({"__metadata__": {"a": 1}}), "__metadata__ is not a table of texts"),
        (pack({"__metadata__": []}), "__metadata__ is not a table of texts"),
        (pack({"x": 1}), "entry 'x' should have dtype, shape and data_offsets"),
        (pack({"x": {**F32, "extra": 1}}), "and nothing else"),
        (pack({"x": {**F32, "dtype": "F31"}}), "unknown dtype 'F31'"),
        (pack({"x": {**F32, "dtype": ["F32"]}}), "unknown dtype"),
        (pack({"x": {**F32, "shape": 2}}), "the shape of 'x'"),
        (pack({"x": {**F32, "shape": [-1]}}), "the shape of 'x'"),
        (pack({"x": {**F32, "shape": [2.0]}}), "the shape of 'x'"),
        (pack({"x": {**F32, "shape": [True]}}), "the shape of 'x'"),
        (pack({"x": {**F32, "shape": [1] * 65}}), "at most 64 sizes"),
        (pack({"x": {**F32, "shape": [2**62, 2**62]}}), "which takes"),
        (pack({"x": {**F32, "shape": [2**64]}}), "the shape of 'x'"),
        (pack({"x": {**F32, "data_offsets": [0]}}), "not a begin and an end"),
        (pack({"x": {**F32, "data_offsets": [8, 0]}}), "not a begin and an end"),
        (pack({"x": {**F32, "data_offsets": [-8, 0]}}), "not a begin and an end"),
        (pack({"x": {**F32, "data_offsets": [0, 12]}}, bytes(12)), "takes 8 bytes, and .* span 12"),
        (pack({"x": {**F32, "shape": [2**58], "data_offsets": [0, 2**60]}}), "bytes are missing"),
        (pack({"x": F32}, bytes(7)), "1 bytes are missing"),
        (pack({"x": F32}, bytes(9)), "more follow"),
        (pack({"x": {**F32, "data_offsets": [8, 16]}}, bytes(16)), "leave a gap"),
        (pack({"x": F32, "y": {**F32, "data_offsets": [4, 12]}}, bytes(12)), "overlap"),
        (pack({"x": F32, "y": F32}, bytes(8)), "overlap"),
        (pickle.dumps({"a": 1}), "pickle of torch.save.*safetensors.torch.save_file"),
        (pack({"__metadata__": {"complex128": "["}, "x": F32}, bytes(8)), "complex .* valid JSON"),
        (pack({"__metadata__": {"complex128": "[1]"}, "x": F32}, bytes(8)), "not a list of names"),
        (pack({"__metadata__": {"complex128": '["x"]'}, "x": F32}, bytes(8)), "not made of pairs"),
        (pack({"__metadata__": {"complex128": '["y"]'}, "x": F32}, bytes(8)), "no entry 'y'"),
        (pack({"x": {**F32, "dtype": "U64", "shape": [1]}}, bytes(8)), "no tensors of that type"),
    ],
)
def test_a_damaged_container(content: bytes, says: str, tmp_path: Any) -> None:
    refuse(content, says, tmp_path)


def test_a_file_of_torch_save(tmp_path: Any) -> None:
    with zipfile.ZipFile(tmp_path / "torch.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 100)
    refuse((tmp_path / "torch.pt").read_bytes(), "pickle of torch.save", tmp_path)


WINDOW = {"in": "x", "dtype": "float32", "shape": [1], "strides": [4], "offset": 4}


@pytest.mark.parametrize(
    ("about", "tree"),
    [
        ([{"in": "y"}], ["leaf", 0]),
        ([{"in": ["x"]}], ["leaf", 0]),
        ([{}], ["leaf", 0]),
        ([1], ["leaf", 0]),
        ({"in": "x"}, ["leaf", 0]),
        ([{"in": "x", "strides": [16]}], ["leaf", 0]),
        ([{"in": "x", "strides": [2**62]}], ["leaf", 0]),
        ([{"in": "x", "strides": [-4]}], ["leaf", 0]),
        ([{"in": "x", "strides": [4, 4]}], ["leaf", 0]),
        ([{"in": "x", "strides": "4"}], ["leaf", 0]),
        ([WINDOW | {"offset": 8}], ["leaf", 0]),
        ([WINDOW | {"offset": -4}], ["leaf", 0]),
        ([WINDOW | {"offset": 1.5}], ["leaf", 0]),
        ([WINDOW | {"shape": [2]}], ["leaf", 0]),
        ([WINDOW | {"shape": [2**62], "strides": [2**62]}], ["leaf", 0]),
        ([WINDOW | {"shape": [2**62, 0], "strides": [2**62, 1]}], ["leaf", 0]),
        ([WINDOW | {"shape": [2], "strides": [-8]}], ["leaf", 0]),
        ([WINDOW | {"dtype": "object"}], ["leaf", 0]),
        ([WINDOW | {"dtype": None}], ["leaf", 0]),
        ([WINDOW | {"dtype": "uint32"}], ["leaf", 0]),
        ([WINDOW | {"dtype": "int32", "requires_grad": True}], ["leaf", 0]),
        ([{"in": "x", "device": "fridge"}], ["leaf", 0]),
        ([{"in": "x", "device": 3}], ["leaf", 0]),
        ([{"in": "x"}], ["leaf", 1]),
        ([{"in": "x"}], ["leaf", -1]),
        ([{"in": "x"}], ["leaf", "0"]),
        ([{"in": "x"}], ["leaf"]),
        ([{"in": "x"}], []),
        ([{"in": "x"}], {"a": 1}),
        ([{"in": "x"}], ["call", "os.system"]),
        ([{"in": "x"}], [["leaf"], 0]),
        ([{"in": "x"}], ["dict", [["a"]]]),
        ([{"in": "x"}], ["dict", [[["list", []], 1]]]),
        ([{"in": "x"}], ["dict", 7]),
        ([{"in": "x"}], ["defaultdict", [], "eval"]),
        ([{"in": "x"}], ["int", "0y"]),
        ([{"in": "x"}], ["float", "x"]),
        ([{"in": "x"}], ["bytes", "%"]),
        ([{"in": "x"}], ["dtype", "complex"]),
        ([{"in": "x"}], ["device", "fridge"]),
        ([{"in": "x"}], ["number", "float32", "00"]),
        ([{"in": "x"}], ["number", "object", "00"]),
        ([{"in": "x"}], ["size", ["a"]]),
        ([{"in": "x"}], ["set", [["dict", []]]]),
    ],
    ids=str,
)
def test_a_damaged_description(about: Any, tree: Any, tmp_path: Any) -> None:
    refuse(ours(about, tree), "damaged", tmp_path)


def test_a_deep_structure(tmp_path: Any) -> None:
    tree: Any = 0
    for _ in range(300):
        tree = ["list", [tree]]
    refuse(ours([{"in": "x"}], tree), "damaged", tmp_path)
    side = '{"version": 1, "leaves": [], "object": ' + "[" * 100_000
    refuse(pack({"__metadata__": {"minitorch_dist": side}}), "damaged", tmp_path)


def test_another_version(tmp_path: Any) -> None:
    side = json.dumps({"version": 2, "object": None, "leaves": []})
    refuse(pack({"__metadata__": {"minitorch_dist": side}}), "of version 2", tmp_path)


def test_promises_cost_nothing() -> None:
    promises = [
        pack({"x": {"dtype": "U8", "shape": [2**40], "data_offsets": [0, 2**40]}}, bytes(100)),
        (10**8).to_bytes(8, "little") + b"{}",
        ours([{"in": "x", "strides": [2**40]}]),
        ours([WINDOW | {"shape": [2**20], "strides": [2**20]}]),
    ]
    tracemalloc.start()
    try:
        for content in promises:
            with pytest.raises(SerializationError):
                mtd.load(io.BytesIO(content))
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def sample() -> bytes:
    base = mtd.arange(12.0).reshape(3, 4)
    file = io.BytesIO()
    mtd.save(
        {
            "w": Parameter(base),
            "row": base[1],
            "t": mtd.ones(2, 3).t(),
            "gap": mtd.ones(4, 4)[:, :3],
            "n": [1, 2.5, None, "text", 10**30, b"b"],
            7: {"s": {1, 2}, "d": mtd.float16},
        },
        file,
    )
    return file.getvalue()


SAMPLE = sample()


def load_or_refuse(content: bytes) -> None:
    """Anything but a result or the one error is a bug."""
    with suppress(SerializationError):
        mtd.load(io.BytesIO(content))


@given(st.integers(0, len(SAMPLE)))
def test_truncated_anywhere(length: int) -> None:
    if length < len(SAMPLE):
        with pytest.raises(SerializationError):
            mtd.load(io.BytesIO(SAMPLE[:length]))
    else:
        mtd.load(io.BytesIO(SAMPLE))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.binary(max_size=4)), min_size=1, max_size=4))
def test_mutated_bytes(changes: list[tuple[int, bytes]]) -> None:
    content = SAMPLE
    for place, replacement in changes:
        content = content[:place] + replacement + content[place + len(replacement) :]
    load_or_refuse(content)


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["leaf", "list", "dict", "x", "float32", "size", "number", "slice"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.data())
def test_mutated_structure(data: Any) -> None:
    length = int.from_bytes(SAMPLE[:8], "little")
    header = json.loads(SAMPLE[8 : 8 + length])
    side = json.loads(header["__metadata__"]["minitorch_dist"])
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = data.draw(st.sampled_from([header, side]))
        while True:  # walk to a random place and put something else there
            keys = list(target) if isinstance(target, dict) else list(range(len(target)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            inner = target[key]
            if not isinstance(inner, (dict, list)) or data.draw(st.integers(0, 3)) == 0:
                target[key] = data.draw(JSON)
                break
            target = inner
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"]["minitorch_dist"] = json.dumps(side)
    load_or_refuse(pack(header, SAMPLE[8 + length :]))
