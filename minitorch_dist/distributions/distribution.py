"""The base of all distributions: shapes, checks, and what each distribution answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.dtypes import get_default_dtype
from minitorch_dist.tensors.ops.making.creation import tensor
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_tensors
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor

SCALAR: Final = Size()


class Distribution:
    """A batch of distributions of one kind: `batch_shape` says how many, `event_shape` what one draw is.

    A method that a distribution does not have raises NotImplementedError.
    """

    has_rsample = False
    _validate_args = True
    _parameters: tuple[str, ...] = ()  # the names that `repr` shows

    def __init__(
        self,
        batch_shape: Size = SCALAR,
        event_shape: Size = SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """A draw of shape `sample_shape + batch_shape + event_shape`, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """A draw through which gradients flow to the parameters."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density (or the probability) at `value`."""
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check(self, name: str, value: Any, fits: Any, region: str) -> None:
        """Raise ValueError unless all of the tensor `fits` is true: `value` lies in its region."""
        if self._validate_args and not fits.all():
            raise ValueError(
                f"Expected {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {region}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        held = ((name, getattr(self, name)) for name in self._parameters)
        shown = (f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in held)
        return f"{type(self).__name__}({', '.join(shown)})"


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape. A number takes the dtype of the first tensor."""
    like = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = get_default_dtype() if like is None else like.dtype
    device = None if like is None else like.device
    tensors = [
        value if isinstance(value, Tensor) else tensor(value, dtype=dtype, device=device)
        for value in values
    ]
    return tuple(broadcast_tensors(*tensors))
