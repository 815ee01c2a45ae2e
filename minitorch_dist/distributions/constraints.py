"""The values that a parameter may have, and those that a distribution can give."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.graph import result


class Constraint:
    """A region of values. The last `event_dim` dimensions of a tensor are one value of it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A tensor of booleans: whether each value lies in the region."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__[1:]}({bounds})"


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # false for nan


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    """Numbers that are not negative and add up to 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        numbers = (
            value.array
        )  # this is asked for each die of a game, so it is one question and not six
        sums = np.asanyarray(np.add.reduce(numbers, -1, np.float64)).astype(numbers.dtype)
        fits = np.logical_and.reduce(numbers >= 0, -1) & (abs(sums - 1) < 1e-6)
        return result(value, np.asanyarray(fits))


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _LessThan(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(Constraint):
    """Both ends belong to it."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        numbers = value.array
        low, high = (getattr(end, "array", end) for end in (self.lower_bound, self.upper_bound))
        fits = (numbers >= low) & (numbers <= high)
        if numbers.dtype.kind not in "iub":
            fits &= numbers == np.floor(numbers)
        return result(value, np.asanyarray(fits))


class _IndependentConstraint(Constraint):
    """One value is a block of the last dimensions; all in the block have to fit."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        fits = self.base_constraint.check(value)
        kept = fits.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return fits.reshape(*fits.shape[:kept], -1).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


real = _Real()
boolean = _Boolean()
simplex = _Simplex()
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
unit_interval = _Interval(0.0, 1.0)
real_vector = _IndependentConstraint(real, 1)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
interval = _Interval
integer_interval = _IntegerInterval
independent = _IndependentConstraint
