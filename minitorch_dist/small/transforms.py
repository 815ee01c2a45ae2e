"""torchvision's transforms that digits need: Compose, ToTensor, Normalize, Lambda."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.makers.creation import from_numpy
from minitorch_dist.tensors.tensor import Tensor


class Compose:
    """Apply several transforms one after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        inner = "".join(f"\n    {t}" for t in self.transforms)
        return f"Compose({inner}\n)"


class ToTensor:
    """An image (H, W) or (H, W, C) of bytes becomes a float tensor (C, H, W) in [0, 1]."""

    def __call__(self, image: Any) -> Tensor:
        array = np.asarray(image)
        if array.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
        array = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
        if array.dtype == np.uint8:
            array = array.astype(np.float32) / np.float32(255)
        made: Tensor = from_numpy(np.ascontiguousarray(array))
        return made

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize:
    """(image - mean) / std, per channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        if any(s == 0 for s in std):
            raise ValueError(f"std evaluated to zero, leading to division by zero: {tuple(std)}")
        self.mean, self.std = mean, std

    def __call__(self, image: Tensor) -> Tensor:
        if not isinstance(image, TensorBase):
            raise TypeError(f"img should be Tensor Image. Got {type(image)}")
        if image.array.dtype.kind in "iub":
            raise TypeError(f"Input tensor should be a float tensor. Got {image.dtype}.")
        mean, std = (np.asarray(v, image.array.dtype).reshape(-1, 1, 1) for v in (self.mean, self.std))
        made: Tensor = from_numpy((image.array - mean) / std)
        return made

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Lambda:
    """Any function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)

    def __repr__(self) -> str:
        return "Lambda()"
