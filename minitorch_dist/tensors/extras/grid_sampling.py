"""Looking at an image at places that a net has computed: the spatial transformer (arXiv:1506.02025).

    grid = affine_grid(theta, image.shape)      where each output looks, between -1 and 1
    grid_sample(image, grid)                    what it sees there, from the four pixels around

Both are made of other operations, so their gradients are made, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.ops.making.ranges import arange
from minitorch_dist.tensors.ops.shapes.joining import stack

_CHANGED = (
    "Default {0} behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old "
    "behavior is desired. See the documentation of grid_sample for details."
)


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The places (N, H, W, 2) that matrices `theta` (N, 2, 3) map a regular grid to"""
    if align_corners is None:
        warnings.warn(_CHANGED.format("affine_grid"), stacklevel=2)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) != 4 or theta.ndim != 3 or theta.shape[1:] != (2, 3):
        raise NotImplementedError(
            "affine_grid is offered for images: theta of shape (N, 2, 3) and a size (N, C, H, W), not "
            f"{tuple(theta.shape)} and {tuple(size)}"
        )
    rows, columns = (_steps(n, bool(align_corners), theta) for n in size[2:])
    x, y = columns.expand(size[2], size[3]), rows.unsqueeze(1).expand(size[2], size[3])
    points = stack([x, y, x * 0 + 1], -1).reshape(-1, 3)
    return (points @ theta.mT).reshape(size[0], size[2], size[3], 2)


def _steps(n: int, align_corners: bool, like: Any) -> Any:
    """`n` places from -1 to 1: with the ends, or the middles of n pieces."""
    numbers = arange(n, dtype=like.dtype, device=like.device)
    if align_corners:
        return numbers * (2 / (n - 1)) - 1 if n > 1 else numbers * 0
    return (numbers * 2 + 1) / n - 1


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """Images (N, C, H, W) seen at the places `grid` (N, H', W', 2), where -1 and 1 are the edges"""
    if mode not in ("bilinear", "nearest"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear' or 'nearest', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_CHANGED.format("grid_sample"), stacklevel=2)
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[0] != input.shape[0] or grid.shape[3] != 2:
        raise RuntimeError(
            "grid_sampler(): expected images (N, C, H, W) and a grid (N, H', W', 2) of one batch size, but got "
            f"{tuple(input.shape)} and {tuple(grid.shape)}"
        )
    high, wide = input.shape[2:]
    aligned = bool(align_corners)
    x, y = (
        _place(grid[..., n], side, padding_mode, aligned) for n, side in enumerate((wide, high))
    )
    if mode == "nearest":
        return _pixels(input, x.round(), y.round())
    left, top = x.detach().floor(), y.detach().floor()
    right, low = x - left, y - top
    total: Any = 0
    for down, by_row in ((0, 1 - low), (1, low)):
        for along, by_column in ((0, 1 - right), (1, right)):
            seen = _pixels(input, left + along, top + down)
            total = total + seen * (by_row * by_column).unsqueeze(1)
    return total


def _place(at: Any, n: int, padding: str, aligned: bool) -> Any:
    """A coordinate between -1 and 1 as a place among `n` pixels."""
    place = (at + 1) / 2 * (n - 1) if aligned else ((at + 1) * n - 1) / 2
    if padding == "reflection":
        low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
        if span <= 0:
            return place * 0
        away = (place - low).abs()
        turns = (away.detach() / span).floor()
        rest = away - turns * span
        place = rest.where(turns % 2 == 0, span - rest) + low
    return place if padding == "zeros" else place.clamp(0, n - 1)


def _pixels(input: Any, x: Any, y: Any) -> Any:
    """The pixels at whole places (N, H', W'); outside of the image there are zeros."""
    count, channels, high, wide = input.shape
    inside = (x >= 0) & (x <= wide - 1) & (y >= 0) & (y <= high - 1)
    where = y.clamp(0, high - 1).long() * wide + x.clamp(0, wide - 1).long()
    flat = where.reshape(count, 1, -1).expand(count, channels, -1)
    seen = input.reshape(count, channels, high * wide).gather(2, flat)
    return seen.reshape(count, channels, *x.shape[1:]) * inside.unsqueeze(1).to(input.dtype)
