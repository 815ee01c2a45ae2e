"""A flipped bit in a file of `save` never loads as another value."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.serialization import container

BASE = mtd.arange(12.0).reshape(3, 4)
THINGS: list[Any] = [
    {"w": BASE, "row": BASE[1], "t": mtd.ones(2, 3).t(), "n": 7, "text": "abc"},
    [mtd.ones((), dtype=mtd.complex128), mtd.zeros(0, 2), mtd.ones(5)[::2], np.arange(3)],
    {"w": mtd.ones(3, dtype=mtd.bfloat16), "b": mtd.tensor([True, False])},
]


def written(thing: Any) -> bytes:
    file = io.BytesIO()
    mtd.save(thing, file)
    return file.getvalue()


@pytest.mark.parametrize("thing", THINGS)
def test_one_bit_of_each_byte(thing: Any) -> None:
    data = written(thing)
    right = written(mtd.load(io.BytesIO(data)))
    for place in range(len(data)):
        bent = bytearray(data)
        bent[place] ^= 1 << place * 5 % 8
        try:
            found = mtd.load(io.BytesIO(bytes(bent)))
        except mtd.SerializationError:
            continue
        assert written(found) == right, f"byte {place} loads as another value"


def test_the_error_names_the_file_and_the_tensor(tmp_path: Path) -> None:
    mtd.save({"w": mtd.ones(3), "b": mtd.zeros(2)}, tmp_path / "model.pt")
    data = bytearray((tmp_path / "model.pt").read_bytes())
    data[-1] ^= 1
    (tmp_path / "model.pt").write_bytes(data)
    words = r"the bytes of 'b' were changed .* It is '.*model\.pt'"
    with pytest.raises(mtd.SerializationError, match=words):
        mtd.load(tmp_path / "model.pt")


def test_files_of_others_and_of_before_have_no_checksums() -> None:
    data = written({"w": mtd.ones(3)})
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    for key in (container.SEAL, container.CHECKS):
        del header["__metadata__"][key]
    for metadata in (header["__metadata__"], {"format": "pt"}, {}):
        text = json.dumps(header | {"__metadata__": metadata}).encode()
        old = len(text).to_bytes(8, "little") + text + data[8 + length :]
        assert mtd.load(io.BytesIO(old))["w"].tolist() == [1, 1, 1]


def test_others_read_them(tmp_path: Path) -> None:
    others = pytest.importorskip("safetensors.numpy")
    arrays = {"w": np.arange(6.0).reshape(2, 3).T, "h": np.ones(3, ml_dtypes.bfloat16)}
    with (tmp_path / "x").open("wb") as file:
        checks = container.write(file, arrays, {"format": "pt"})
    assert checks["w"] == container.checksum(np.ascontiguousarray(arrays["w"]))
    assert others.load_file(tmp_path / "x")["w"].tolist() == arrays["w"].tolist()


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        ("{", "valid JSON"),
        ("[]", "table of numbers"),
        ('{"w": "1"}', "table of numbers"),
        ("{}", "other names"),
        ('{"w": 1, "v": 2}', "other names"),
        ('{"w": 1}', "bytes of 'w' were changed"),
        ('{"w": true}', "table of numbers"),
    ],
)
def test_checksums_that_are_none(checks: str, says: str) -> None:
    text = json.dumps(
        {"__metadata__": {container.CHECKS: checks}, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    ).encode()
    with pytest.raises(mtd.SerializationError, match=says):
        mtd.load(io.BytesIO(len(text).to_bytes(8, "little") + text + bytes(8)))
