"""MNIST from files: found where people keep them, and every damaged file is told from a good one."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from minitorch_dist.datasets import MNIST
from minitorch_dist.datasets.mnist import read_idx


def write(folder: Path, packed: bool = False, count: int = 6) -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    images = np.arange(count * 784, dtype=np.int64).astype(np.uint8).reshape(count, 28, 28)
    labels = (np.arange(count) % 10).astype(np.uint8)
    for part in ("train", "t10k"):
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            content = b"\0\0\x08" + bytes([array.ndim])
            content += struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
            name = f"{part}-{kind}-ubyte" + (".gz" if packed else "")
            (folder / name).write_bytes(gzip.compress(content) if packed else content)
    return images, labels


@pytest.mark.parametrize("place", [".", "MNIST/raw", "raw"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_files_are_found_where_people_keep_them(tmp_path: Path, place: str, packed: bool, train: bool) -> None:
    images, labels = write(tmp_path / place, packed)
    data = MNIST(tmp_path, train=train, download=True)
    assert np.array_equal(data.data.array, images) and data.targets.tolist() == labels.tolist()
    assert len(data) == 6 and data[2][1] == 2 and "Number of datapoints: 6" in repr(data)


def test_missing_files_are_named_with_where_to_put_them(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Dataset not found") as caught:
        MNIST(tmp_path, download=True)
    text = str(caught.value)
    for part in (
        "train-images-idx3-ubyte",
        "Nothing is downloaded",
        str(tmp_path / "MNIST" / "raw"),
        "SyntheticDigits",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not an IDX file"),
        (b"PK\x03\x04 something else", "not an IDX file"),
        (b"\0\0\x08\x03\0\0", "ends inside its header"),
        (b"\0\0\x08\x01\0\0\0\x05abc", "promises 5 elements"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "promises"),
        (b"\0\0\x08\x02" + struct.pack(">2I", 0, 5) + b"x", "promises 0 elements"),
        (b"\0\0\x08\x46" + struct.pack(">70I", *[1] * 70) + b"x", "cannot be"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_refused_with_the_reason(
    tmp_path: Path, content: bytes, complaint: str, packed: bool
) -> None:
    path = tmp_path / ("file.gz" if packed else "file")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(ValueError, match=complaint):
        read_idx(path)


IMAGE = b"\0\0\x08\x01" + struct.pack(">I", 2000) + bytes(range(250)) * 8


@pytest.mark.parametrize("at", range(0, len(gzip.compress(IMAGE)), 7))
def test_a_packed_file_that_is_damaged_anywhere_is_refused_or_right(tmp_path: Path, at: int) -> None:
    path, whole = tmp_path / "file.gz", gzip.compress(IMAGE)
    for spoilt in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :], b"\0\0\x08\x01"):
        path.write_bytes(spoilt)
        try:
            assert read_idx(path).tobytes() == IMAGE[8:]
        except ValueError as error:
            assert str(path) in str(error)


def test_no_more_is_unpacked_than_the_header_promises(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 3) + bytes(64 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="holds more"):
            read_idx(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_images_and_labels_must_belong_together(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x02ab")
    with pytest.raises(ValueError, match="do not belong together"):
        MNIST(tmp_path)
