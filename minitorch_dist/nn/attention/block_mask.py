"""`BlockMask`: which blocks of queries and keys meet, as `create_block_mask` finds it out from a function.

For each row of blocks `kv_num_blocks` tells how many blocks of keys are looked at in part, and `kv_indices` names these
first. `full_kv_num_blocks` and `full_kv_indices` say the same of blocks that are looked at wholly; `q_num_blocks` and
its kin say it of columns. A pair counts if its block is listed as full, or is listed and `mask_mod` says so.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.making.creation import zeros
from minitorch_dist.tensors.ops.making.exchange import from_numpy
from minitorch_dist.tensors.ops.making.ranges import arange
from minitorch_dist.tensors.tensor import Tensor

Modification = Callable[..., Any]
SIDE = 128
TENSORS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
    "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Every query may look at every key."""
    return (batch + head + token_q + token_kv) >= 0


def asked_for_a_slice(*_: Any) -> NoReturn:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset. You must set it from the original BlockMask's mask_mod."
    )


def or_masks(*mask_mods: Modification) -> Modification:
    """A mask that allows what one of these allows."""
    _check_callable(mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b * 0 > 0
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Modification) -> Modification:
    """A mask that allows what all of these allow."""
    _check_callable(mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b * 0 == 0
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _check_callable(mask_mods: tuple[Modification, ...]) -> None:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def everywhere(shape: Sequence[int], device: Any) -> list[Any]:
    """The numbers of batches, heads, queries and keys, in shapes that broadcast to all pairs."""
    sides = [[1] * d + [-1] + [1] * (3 - d) for d in range(4)]
    return [arange(n, device=device).view(side) for n, side in zip(shape, sides, strict=True)]


def create_mask(
    mod_fn: Modification,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask of all pairs, of shape (B, H, Q_LEN, KV_LEN). A `score_mod` allows what it does not set to -inf."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = everywhere(shape, device or "cpu")
    takes_score = sum(
        p.default is inspect.Parameter.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(mod_fn).parameters.values()
    )  # fmt: skip
    if takes_score == 5:
        found = mod_fn(zeros(shape, device=device or "cpu"), *places) != float("-inf")
    else:
        found = mod_fn(*places)
    return found.expand(shape)  # type: ignore[no-any-return]


def create_block_mask(
    mask_mod: Modification,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = SIDE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """Ask `mask_mod` for all pairs, and count in blocks. The last two arguments order the work of torch's kernels."""
    sides: Any = (BLOCK_SIZE,) * 2 if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device).array
    rows, columns = (-(-n // side) for n, side in zip(mask.shape[-2:], sides, strict=True))
    room = np.zeros((*mask.shape[:2], rows * sides[0], columns * sides[1]), bool)
    room[:, :, :Q_LEN, :KV_LEN] = mask
    blocks = room.reshape(*mask.shape[:2], rows, sides[0], columns, sides[1])
    counts = blocks.sum((3, 5))
    full = (counts == sides[0] * sides[1]) & separate_full_blocks
    partly, wholly = _in_rows((counts > 0) & ~full), _in_rows(full)
    if not separate_full_blocks:
        wholly = None, None
    found = BlockMask.from_kv_blocks(
        *partly, *wholly, BLOCK_SIZE=sides, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )
    return found if device is None else found.to(device)


def _in_rows(dense: Array) -> tuple[Any, Any]:
    """How many blocks each row has, and the numbers of its columns: these first, in order."""
    order = np.argsort(~dense, axis=-1, kind="stable")
    return from_numpy(dense.sum(-1).astype(np.int32)), from_numpy(order.astype(np.int32))


def _dense(counts: Any, indices: Any) -> Array:
    found = np.zeros(indices.shape, np.int32)
    listed = np.arange(indices.shape[-1]) < counts.array[..., None]
    np.put_along_axis(found, indices.array.astype(np.int64), listed.astype(np.int32), -1)
    return found


def _columns(counts: Any, indices: Any) -> tuple[Any, Any]:
    """The same blocks, listed by columns."""
    return _in_rows(_dense(counts, indices).swapaxes(-1, -2) > 0)


class BlockMask:
    """A mask of pairs, and which blocks of them are looked at."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any,
        full_kv_indices: Any,
        q_num_blocks: Any,
        q_indices: Any,
        full_q_num_blocks: Any,
        full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (SIDE, SIDE),
        mask_mod: Modification = noop_mask,
    ) -> None:
        if kv_indices.ndim < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: int | tuple[int, int] = SIDE,
        mask_mod: Modification | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """From the blocks in each row; those in each column follow from them."""
        sides = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        q_num_blocks = q_indices = full_q_num_blocks = full_q_indices = None
        if compute_q_blocks:
            q_num_blocks, q_indices = _columns(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None:
                full_q_num_blocks, full_q_indices = _columns(full_kv_num_blocks, full_kv_indices)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * sides[0], kv_indices.shape[-1] * sides[1])
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
            q_num_blocks, q_indices, full_q_num_blocks, full_q_indices, sides, mask_mod or noop_mask,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        return prod(self.shape)

    def allowed(self, shape: Any, device: Any) -> Any:
        """Whether each of `shape` = (batch, heads, queries, keys) pairs counts."""
        found = self.mask_mod(*everywhere(shape, device)) & self._in_blocks(
            self.kv_num_blocks, self.kv_indices, device
        )
        if self.full_kv_num_blocks is None:
            return found
        return found | self._in_blocks(self.full_kv_num_blocks, self.full_kv_indices, device)

    def _in_blocks(self, counts: Any, indices: Any, device: Any) -> Any:
        """Whether the block of each pair is listed."""
        pairs = _dense(counts, indices) > 0
        for axis, side in zip((-2, -1), self.BLOCK_SIZE, strict=True):
            pairs = np.repeat(pairs, side, axis)
        queries, keys = self.seq_lengths
        return from_numpy(pairs[..., :queries, :keys].copy()).to(device)

    def sparsity(self) -> float:
        """How many of a hundred pairs stand in blocks that nobody looks at."""
        blocks = int(self.kv_num_blocks.array.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.array.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that is looked at."""
        return from_numpy(self._looked_at())  # type: ignore[no-any-return]

    def _looked_at(self) -> Array:
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            found |= _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found

    def to(self, device: Any) -> BlockMask:
        twin = copy.copy(self)
        for name in TENSORS:
            tensor = getattr(self, name)
            setattr(twin, name, tensor if tensor is None else tensor.to(device))
        return twin

    def __getitem__(self, index: Any) -> BlockMask:
        """Some batches, heads or rows of blocks. Its `mask_mod` has to be set anew."""
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        sides = self.kv_num_blocks.shape[:3]
        key = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i
            for i, n in zip(padded, sides, strict=True)
        )
        counts, indices, full_counts, full_indices = (
            t if t is None else t[key] for t in (getattr(self, n) for n in TENSORS[:4])
        )
        return BlockMask.from_kv_blocks(
            counts,
            indices,
            full_counts,
            full_indices,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=asked_for_a_slice,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of at most `grid_size` places: █ all, ░ some, blank none of the blocks."""
        dense = self._looked_at()
        rows, columns = dense.shape[-2:]
        if grid_size == -1:
            grid_size = (rows, columns)
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        down, right = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
        shown = []
        for number, at in enumerate(itertools.product(*map(range, dense.shape[:-2]))):
            if number == limit:
                shown.append(
                    "...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index "
                    "(BlockMask[batch, head]) to choose a specific batch or head"
                )
                break
            lines = [f"{at}\n"]
            for r in range(0, rows, down):
                means = [dense[at][r : r + down, c : c + right].mean() for c in range(0, columns, right)]  # fmt: skip
                lines.append("".join(2 * ("█" if m == 1 else "░" if m else " ") for m in means) + "\n")  # fmt: skip
            shown.append("".join(lines))
        return "\n".join(shown)

    def __str__(self) -> str:
        head = f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
        return f"{head}{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = [(n, getattr(self, n)) for n in TENSORS]
        lines = [f"    {n}={None if t is None else t.shape},\n" for n, t in shapes]
        return (
            f"BlockMask(\n{''.join(lines)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )
