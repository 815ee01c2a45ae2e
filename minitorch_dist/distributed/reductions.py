"""How two values become one: the function of every reduce op, for whole arrays.

Wherever a message is reduced on arrival, `combine(mine, theirs, out=mine)` is one of these. Sums of
float16 and bfloat16 are added in float32 and rounded once per step, as the hardware does; integers
wrap; for bool a sum is `or` and a product `and`. `avg` and `premul_sum` are sums whose factor the
collective applies before or after. A nan stays a nan in min and max.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from minitorch_dist.tensors.core.base import Array


class CombineFunction(Protocol):
    """A binary function of arrays that can write its result into one of them."""

    def __call__(self, mine: Any, theirs: Any, /, out: Any) -> Any: ...


class ReduceStep(NamedTuple):
    """A reduce op by its name in the core, with its factor."""

    name: str = "sum"
    factor: Any = None


SUM: Final = ReduceStep()
COMBINES: Final[dict[str, CombineFunction]] = {
    "sum": np.add,
    "avg": np.add,
    "premul_sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}


def scale(array: Array, reduction: ReduceStep) -> None:
    """Multiply a rank's own values with the factor, before they are added."""
    if reduction.name == "premul_sum":
        with np.errstate(all="ignore"):
            np.multiply(array, _like(reduction.factor, array), out=array, casting="unsafe")


def average(array: Array, reduction: ReduceStep, size: int) -> None:
    """Divide a sum by the number of ranks."""
    if reduction.name == "avg":
        with np.errstate(all="ignore"):
            np.divide(array, array.dtype.type(size), out=array)


def _like(factor: Any, array: Any) -> Any:
    return array.dtype.type(factor) if np.ndim(factor) == 0 else np.asarray(factor, array.dtype)
