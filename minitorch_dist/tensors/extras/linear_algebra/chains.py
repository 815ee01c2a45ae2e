"""The product of many matrices. The order of the multiplications decides how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import matmul


@autocasting.lower
def multi_dot(tensors: Sequence[T]) -> T:
    """The product of a chain of matrices, in the order that needs the fewest multiplications."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    shapes = [t.array.shape for t in tensors]
    for number, shape in enumerate(shapes):
        at_end = number in (0, len(shapes) - 1)
        if len(shape) != 2 and not (at_end and len(shape) == 1):
            raise RuntimeError(
                f"multi_dot(): tensor {number} must be 2D{' or 1D' if at_end else ''} but got "
                f"{len(shape)}D"
            )
    sizes = [shapes[0][0] if len(shapes[0]) == 2 else 1]
    sizes += [s[-1] for s in shapes]
    if len(shapes[-1]) == 1:
        sizes[-1] = 1
    split = _best_splits(sizes)

    def chain(first: int, last: int) -> T:
        if first == last:
            return tensors[first]
        middle = split[first][last]
        return matmul(chain(first, middle), chain(middle + 1, last))

    return chain(0, len(tensors) - 1)


def _best_splits(sizes: list[int]) -> list[list[int]]:
    """split[i][j]: after which matrix to cut the chain i…j (the textbook's dynamic programme)."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


@autocasting.lower
def chain_matmul(*matrices: T) -> T:
    """`multi_dot`, with the matrices as arguments of their own."""
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices)
