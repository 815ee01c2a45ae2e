"""PowerSGD: gradients as products of two thin matrices (Vogels et al., NeurIPS 2019, arXiv:1905.13727).

    M (n × m)  ≈  P Qᵀ          P is n × r, Q is m × r, r is 1, 2 or 4

    P = M Q        all_reduce P, make its columns orthonormal
    Q = Mᵀ P       all_reduce Q, divide by the number of ranks
    M̂ = P Qᵀ       the gradient that every rank then has

One step of subspace iteration per training step, which starts from the last step's Q. The difference
M - M̂ is kept and added to the next gradient (error feedback), so nothing is lost for ever. A rank
sends (n + m) r numbers instead of n m. Vectors are sent as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist import not_offered
from minitorch_dist.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged
from minitorch_dist.distributed.algorithms.ddp_comm_hooks.deferred import DeferredFuture
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.distributed.work import Work
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The memory of PowerSGD: its settings, the last Q of every matrix, and the errors made.

    The first `start_powerSGD_iter` iterations average as usual (at least 2 with error feedback or
    warm start, since the buckets change after the first). A matrix is compressed if that makes it
    smaller by `min_compression_rate`. Every rank must give the same settings.
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                f"enabled, because PowerSGD can only be applied after the first two iterations in "
                f"DDP, when the buckets are rebuilt; got {start_powerSGD_iter}"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random_seed = random_seed
        self.error_dict: dict[int, Array] = {}
        self.q_memory_dict: dict[int, Array] = {}
        self.iter = self._draws = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count iterations: they end with the last bucket."""
        if bucket.is_last():
            self.iter += 1

    def draw(self, count: int) -> Array:
        """Random numbers, the same on all ranks and others each time."""
        self._draws += 1
        generator = np.random.Generator(np.random.PCG64([self.random_seed, self._draws]))
        return generator.random(count) - 0.5

    def __repr__(self) -> str:
        return (
            f"<PowerSGDState of rank {self.matrix_approximation_rank}, iteration {self.iter}, "
            f"{len(self.q_memory_dict)} buckets compressed>"
        )


class Factors:
    """A matrix on its way: two windows on the buffers of all P and of all Q of its bucket."""

    def __init__(self, matrix: Array, p: Array, q: Array) -> None:
        self.matrix, self.p, self.q = matrix, p, q


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:
    """Compress the gradient of each parameter with more than one dimension."""
    flat: Array = bucket.buffer().array
    if flat.dtype not in (np.float32, np.float64):
        raise TypeError(f"PowerSGD takes gradients in float32 and float64, not in {flat.dtype}")
    matrices, vectors, stop = [], [], 0
    for parameter in bucket.parameters():
        shape = parameter.array.shape
        start, stop = stop, stop + parameter.array.size
        gradient = flat[start:stop]
        if len(shape) > 1 and _is_worth_it(gradient.reshape(shape[0], -1), state):
            matrices.append(gradient.reshape(shape[0], -1))
        else:
            vectors.append(gradient)
    return _compressed(state, bucket, matrices, vectors, flat)


def _is_worth_it(matrix: Array, state: PowerSGDState) -> bool:
    rows, columns = matrix.shape
    rank = min(rows, columns, state.matrix_approximation_rank)
    return bool((rows + columns) * rank * state.min_compression_rate < rows * columns)


def _compressed(
    state: PowerSGDState,
    bucket: GradBucket,
    matrices: list[Array],
    vectors: list[Array],
    whole: Array,
) -> Future[Any]:
    """The average of `matrices` (windows on `flat`) in two rounds, and of `vectors` in one."""
    buffer: Any = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(state.process_group, buffer)
    group, index = or_default(state.process_group), bucket.index()
    if state.use_error_feedback:
        whole += state.error_dict.setdefault(index, np.zeros_like(whole))
    mine = whole.copy() if state.use_error_feedback else None

    factors, ps, qs = _factors(state, index, matrices, whole.dtype)
    plain = np.concatenate(vectors) if vectors else np.empty(0, whole.dtype)
    for part in factors:
        np.matmul(part.matrix, part.q, out=part.p)
    first = [_sum(group, plain), _sum(group, ps)]
    state.maybe_increase_iter(bucket)

    def second() -> Any:
        _await(first)
        for part in factors:
            _orthogonalize(part.p, state.orthogonalization_epsilon)
            np.matmul(part.matrix.T, part.p, out=part.q)
        _await([_sum(group, qs)])
        qs[...] /= qs.dtype.type(group.size())
        plain[...] /= plain.dtype.type(group.size())
        for part in factors:
            np.matmul(part.p, part.q.T, out=part.matrix)
        stop = 0
        for vector in vectors:
            start, stop = stop, stop + vector.size
            vector[...] = plain[start:stop]
        if mine is not None:
            error = state.error_dict[index]
            np.subtract(mine, whole, out=error)
            for vector in vectors:  # an average is no approximation: it leaves no error
                place = _place_of(vector, whole)
                error[place : place + vector.size] = 0
        return buffer

    return DeferredFuture(second)


def _factors(
    state: PowerSGDState, index: int, matrices: list[Array], dtype: Any
) -> tuple[list[Factors], Array, Array]:
    """P and Q for each matrix; Q is the last step's, or random and the same on all ranks."""
    ranks = [min(*m.shape, state.matrix_approximation_rank) for m in matrices]
    ps = np.empty(sum(len(m) * r for m, r in zip(matrices, ranks, strict=True)), dtype)
    count = sum(m.shape[1] * r for m, r in zip(matrices, ranks, strict=True))
    qs = state.q_memory_dict.get(index)
    is_warm = qs is not None and qs.size == count and state.warm_start
    if qs is None or not is_warm:
        qs = state.q_memory_dict[index] = state.draw(count).astype(dtype)
    factors, at, to = [], 0, 0
    for matrix, rank in zip(matrices, ranks, strict=True):
        rows, columns = matrix.shape
        p = ps[at : at + rows * rank].reshape(rows, rank)
        q = qs[to : to + columns * rank].reshape(columns, rank)
        _orthogonalize(q, state.orthogonalization_epsilon)
        factors.append(Factors(matrix, p, q))
        at, to = at + rows * rank, to + columns * rank
    return factors, ps, qs


def _orthogonalize(matrix: Array, epsilon: float) -> None:
    """Make the columns orthonormal, one after the other (Gram and Schmidt). Those that vanish stay 0."""
    for number in range(matrix.shape[1]):
        column = matrix[:, number]
        length = float(np.linalg.norm(column))
        if length > 0:
            column /= matrix.dtype.type(length + epsilon)
        rest = matrix[:, number + 1 :]
        rest -= np.outer(column, column @ rest)


def _place_of(part: Array, whole: Array) -> int:
    return (part.ctypes.data - whole.ctypes.data) // whole.itemsize


def _sum(group: ProcessGroup, array: Array) -> Work | None:
    """Begin to add up over the group; nothing is sent for nothing."""
    if not array.size or group.size() == 1:
        return None
    return all_reduce(base.new(Tensor, array), group=group, async_op=True)


def _await(works: list[Work | None]) -> None:
    for work in works:
        if work is not None:
            work.wait()


not_offered.guard(globals())
