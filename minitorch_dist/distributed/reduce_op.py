"""The ways to make one value of many, under torch's names."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar, NoReturn

import numpy as np

from minitorch_dist.distributed.reductions import COMBINES, ReduceStep
from minitorch_dist.tensors.core.base import TensorBase


class RedOpType(IntEnum):
    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


_Kind = RedOpType


class ReduceOp:
    """`ReduceOp.SUM` and its siblings. An instance is one of them with its factor, if it has one.

    Args:
        op: The kind, such as `ReduceOp.SUM`.
        factor: The factor of a `PREMUL_SUM`.

    Example:
        >>> def largest():
        ...     x = torch.tensor([float(dist.get_rank())])
        ...     dist.all_reduce(x, dist.ReduceOp.MAX)
        ...     return x.item()
        >>> sim.run(largest, 3).results
        [2.0, 2.0, 2.0]
    """

    RedOpType: ClassVar[type[_Kind]] = _Kind
    SUM: ClassVar[_Kind] = _Kind.SUM
    AVG: ClassVar[_Kind] = _Kind.AVG
    PRODUCT: ClassVar[_Kind] = _Kind.PRODUCT
    MIN: ClassVar[_Kind] = _Kind.MIN
    MAX: ClassVar[_Kind] = _Kind.MAX
    BAND: ClassVar[_Kind] = _Kind.BAND
    BOR: ClassVar[_Kind] = _Kind.BOR
    BXOR: ClassVar[_Kind] = _Kind.BXOR
    PREMUL_SUM: ClassVar[_Kind] = _Kind.PREMUL_SUM
    UNUSED: ClassVar[_Kind] = _Kind.UNUSED

    __slots__ = ("factor", "op")

    def __init__(self, op: _Kind, factor: Any = None) -> None:
        self.op, self.factor = op if isinstance(op, _Kind) else _no_op(op), factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op is other.op and self.factor is other.factor
        return isinstance(other, _Kind) and self.op is other

    def __hash__(self) -> int:
        return hash(self.op)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReduceOp, (self.op, self.factor)

    def __repr__(self) -> str:
        factor = "" if self.factor is None else f" with factor {self.factor}"
        return f"<ReduceOp {self.op.name}{factor}>"


reduce_op = ReduceOp  # torch's name of before


def premul_sum(factor: Any) -> ReduceOp:
    """The sum of what every rank has multiplied with `factor` before."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


_make_nccl_premul_sum = premul_sum  # under this name torch has it


def name_of(op: ReduceOp | RedOpType) -> str:
    """The name in the core: `sum`."""
    kind = op.op if isinstance(op, ReduceOp) else op
    return (kind if isinstance(kind, RedOpType) else _no_op(op)).name.lower()


def _no_op(given: Any) -> NoReturn:
    """A text or a number is none, as in torch."""
    raise TypeError(f"op must be one of ReduceOp, such as ReduceOp.SUM, but got {given!r} ({type(given).__name__})")


def reduction_of(op: Any, dtype: np.dtype[Any], what: str = "all_reduce") -> ReduceStep:
    """The reduce op in the core's terms; errors where it makes no sense for this dtype."""
    name = name_of(op)
    factor = op.factor if isinstance(op, ReduceOp) else None
    if name != "sum":
        _check(op, name, factor, dtype, what)
    return ReduceStep(name, factor.array if isinstance(factor, TensorBase) else factor)


def _check(op: RedOpType, name: str, factor: Any, dtype: np.dtype[Any], what: str) -> None:
    """A sum makes sense for all dtypes, but not all others do."""
    if dtype.kind == "c" and name in ("max", "min", "product", "band", "bor", "bxor"):
        raise ValueError(f"{what} does not support RedOpType.{name.upper()} on complex tensors")
    if name not in COMBINES:
        raise RuntimeError(f"Cannot use ReduceOp.{name.upper()}: it reduces nothing")
    is_integral = dtype.kind in "biu"
    if name in ("band", "bor", "bxor") and not is_integral:
        raise RuntimeError(f"Cannot use ReduceOp.{name.upper()} with non-integral dtype")
    if name == "avg" and is_integral:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type: an average of {dtype} is "
            "no integer. Convert the tensor to a floating dtype, or use ReduceOp.SUM"
        )
    if name == "premul_sum" and factor is None:
        raise ValueError("ReduceOp.PREMUL_SUM needs a factor; see premul_sum(factor)")
