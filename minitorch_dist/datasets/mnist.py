"""The real MNIST, read from IDX files that are already on your disk. Nothing is downloaded."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from minitorch_dist.tensors.makers.creation import from_numpy
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.utils.data.dataset import Dataset

Array = np.ndarray[Any, Any]

_FILES = {
    True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
PIECE: Final = 1 << 20  # bytes that are unpacked at a time: a header may promise what is not there
_SOURCE = "https://ossci-datasets.s3.amazonaws.com/mnist/"


class ImageDataset(Dataset[tuple[Any, Any]]):
    """Grey 28×28 images with labels, as torchvision shapes them: `data` and `targets`.

    An item is `(image, label)`: the image a (28, 28) uint8 array, or what `transform` makes of it.
    """

    classes = [str(digit) for digit in range(10)]

    def __init__(
        self,
        images: Array,
        labels: Array,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.data: Tensor = from_numpy(images)
        self.targets: Tensor = from_numpy(labels.astype(np.int64))
        self.transform, self.target_transform = transform, target_transform

    def __len__(self) -> int:
        return len(self.data.array)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = self.data.array[index]
        label: Any = int(self.targets.array[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


class MNIST(ImageDataset):
    """torchvision's `MNIST(root, train, transform, target_transform, download)`, without the download.

    Looks for the four IDX files (plain or .gz) in `root`, `root/MNIST/raw` and `root/raw`.
    """

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        self.root, self.train = Path(root), train
        images, labels = (read_idx(self._find(name, download)) for name in _FILES[train])
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"the MNIST files under {self.root} do not belong together: images of shape "
                f"{images.shape}, labels of shape {labels.shape}"
            )
        super().__init__(images, labels, transform, target_transform)

    def _find(self, name: str, download: bool) -> Path:
        folders = [self.root, self.root / "MNIST" / "raw", self.root / "raw"]
        for folder in folders:
            for candidate in (folder / name, folder / f"{name}.gz"):
                if candidate.is_file():
                    return candidate
        wanted = ", ".join(f"{n}.gz" for pair in _FILES.values() for n in pair)
        raise RuntimeError(
            f"Dataset not found: no {name}(.gz) in {', '.join(str(f) for f in folders)}. "
            + ("Nothing is downloaded here, download=True or not. " if download else "")
            + f"Put the files {wanted} (from {_SOURCE}) into {folders[1]}, or use "
            "datasets.SyntheticDigits, which needs no files."
        )

    def __repr__(self) -> str:
        part = "Train" if self.train else "Test"
        return (
            f"Dataset MNIST\n    Number of datapoints: {len(self)}\n    Root location: {self.root}\n    Split: {part}"
        )


def read_idx(path: Path) -> Array:
    """An array from an IDX file: 0, 0, type, dimensions, big-endian sizes, then the elements.

    ValueError for a file that is damaged. No more is unpacked than its header promises.
    """
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            return _elements(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} is no whole gzip file ({error}): copy it again, or unpack it and name it {path.stem}"
        ) from None


def _elements(path: Path, file: BinaryIO) -> Array:
    begin = file.read(4)
    if len(begin) < 4 or begin[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an IDX file of unsigned bytes (it starts {begin!r})")
    dimensions = begin[3]
    sizes = file.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise ValueError(f"{path} ends inside its header ({4 + len(sizes)} bytes)")
    shape = struct.unpack(f">{dimensions}I", sizes)
    expected = math.prod(shape)
    content = bytearray()
    while len(content) <= expected and (piece := file.read(min(expected + 1 - len(content), PIECE))):
        content += piece
    if len(content) != expected:
        there = len(content) if len(content) < expected else "more"
        raise ValueError(f"{path} is damaged: its header promises {expected} elements {shape}, the file holds {there}")
    try:
        return np.frombuffer(content, np.uint8).reshape(shape)
    except ValueError as error:  # too many dimensions, or sizes beside a 0
        raise ValueError(f"{path} is damaged: its shape {shape} cannot be ({error})") from None
