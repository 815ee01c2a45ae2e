"""Cases that the core leaves to others. They put their functions in here when they are imported.

promote    operands of different types               tensors.promotion
swapped    a number before a tensor                  tensors.promotion
scaled     `alpha` of a sum                          tensors.promotion
misfit     why numpy did not take two operands       tensors.promotion
attend     a node with hooks, a pass with `inputs`   tensors.autograd.passes
sum_as     a sum in another type                      tensors.promotion
retained   a tensor keeps its gradient, and moves    tensors.autograd.hooks
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from minitorch_dist.tensors.core.base import Number, T


def _nobody(*case: Any) -> Any:
    raise NotImplementedError(f"the core alone does not know this case: {case}")


class Promote(Protocol):
    def __call__(self, input: T | Number, other: T | Number, /) -> tuple[T, T]: ...


class Swapped(Protocol):
    def __call__(self, input: T | Number, other: T | Number, /) -> tuple[T, Number]: ...


class SumAs(Protocol):
    def __call__(self, dtype: Any, input: T, dim: Any, keepdim: bool, /) -> T: ...


promote: Promote = _nobody
swapped: Swapped = _nobody
scaled: Callable[[Any, Any, Any], Any] = _nobody
misfit: Callable[..., Exception] = _nobody
attend: Callable[..., tuple[Any, bool]] = _nobody
sum_as: SumAs = _nobody
taken_in: Callable[[Any, Any], Any] = _nobody
retained: Callable[[Any, Any, int], None] = _nobody
