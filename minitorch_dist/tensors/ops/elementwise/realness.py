"""Functions for complex numbers. Elements here are real, so these do nothing."""

from __future__ import annotations

from minitorch_dist.tensors.core.base import T, TensorBase


def conj(input: T) -> T:
    """The complex conjugate: of a real tensor, the tensor itself."""
    return input


def conj_physical(input: T) -> T:
    """`conj`, computed: the tensor itself."""
    return input


def resolve_conj(input: T) -> T:
    """The tensor itself."""
    return input


def resolve_neg(input: T) -> T:
    """The tensor itself."""
    return input


def real(input: T) -> T:
    """The real part: the tensor itself."""
    return input


def imag(input: T) -> T:
    """Raises: a real tensor has no imaginary part."""
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def is_conj(input: TensorBase) -> bool:
    """False."""
    return False


def is_neg(input: TensorBase) -> bool:
    """False."""
    return False
