"""Sparse matrices are torch's: how they are made, what they say, their products and their gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch
from tests.parity.modules import kind_of_error

pytestmark = pytest.mark.parity

PLACES = np.array([[2, 0, 0], [1, 3, 0]])
NUMBERS = np.array([1.5, -2.0, 4.0])


def matrix(t: Any, values: Any, shape: tuple[int, int] = (3, 4)) -> Any:
    return t.sparse_coo_tensor(t.from_numpy(PLACES), values, shape)


PROGRAMS: dict[str, Any] = {
    "to_dense": lambda t, v: matrix(t, v).to_dense() ** 2,
    "spmm": lambda t, v, x: t.spmm(matrix(t, v), x),
    "sparse.mm": lambda t, v, x: t.sparse.mm(matrix(t, v), x) ** 2,
    "mm": lambda t, v, x: t.mm(matrix(t, v), x),
    "matmul": lambda t, v, x: matrix(t, v) @ x,
    "of the transposed": lambda t, v, x: matrix(t, v, (4, 4)).t() @ x,
    "mv": lambda t, v, x: matrix(t, v) @ x[:, 0],
    "sparse.addmm": lambda t, v, x: t.sparse.addmm(t.ones(3, 2).double(), matrix(t, v), x, beta=2),
    "sparse.sum": lambda t, v: t.sparse.sum(matrix(t, v)),
    "times a number": lambda t, v, x: t.sparse.mm(2 * matrix(t, v) * 3, x),
    "sum of two": lambda t, v, x: (matrix(t, v) + matrix(t, v)) @ x,
    "sparse.softmax": lambda t, v: t.sparse.softmax(matrix(t, v), dim=1).to_dense() ** 2,
    "of columns": lambda t, v: t.sparse.softmax(matrix(t, v), dim=0).to_dense() ** 2,
    "values": lambda t, v: matrix(t, v).coalesce().values() ** 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_and_their_gradients(name: str) -> None:
    needs_x = PROGRAMS[name].__code__.co_argcount == 3
    x = np.cos(np.arange(8.0)).reshape(4, 2)
    same(PROGRAMS[name], NUMBERS, *([x] if needs_x else []))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 4)])
def test_from_a_dense_matrix(shape: tuple[int, int]) -> None:
    whole = np.round(np.sin(np.arange(shape[0] * shape[1])).reshape(shape))

    def program(t: Any, x: Any) -> Any:
        stored = t.from_numpy(whole).to_sparse()
        return stored @ x, stored.indices(), stored.values(), stored._nnz(), stored.shape

    same(program, np.ones((shape[1], 3)))


def test_a_dense_matrix_keeps_its_gradient() -> None:
    def program(t: Any, x: Any, y: Any) -> Any:
        return t.sparse.mm(x.to_sparse(), y)

    same(program, np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[1.0], [5.0]]))


def test_a_place_that_is_named_twice() -> None:
    def program(t: Any, x: Any) -> Any:
        twice = t.sparse_coo_tensor([[1, 0, 1], [0, 1, 0]], [1.0, 2.0, 3.0], (2, 2))
        once = twice.coalesce()
        return twice @ x, once.indices(), once.values(), twice.is_coalesced(), once.is_coalesced()

    same(program, np.ones((2, 1), np.float32))


def test_places_outside_are_refused() -> None:
    """torch takes them, unless it is asked to check."""
    with pytest.raises(RuntimeError, match="found index 5"):
        mtd.sparse_coo_tensor([[5], [0]], [1.0], (2, 2))


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor")
def test_what_it_says() -> None:
    def program(t: Any) -> Any:
        stored = t.sparse.FloatTensor(t.from_numpy(PLACES), t.ones(3), t.Size([3, 4]))
        odd = t.sparse_coo_tensor([[0], [1]], [2], (2, 2), dtype=t.float64)
        return (
            repr(stored), str(odd), repr(stored.float()), stored.is_sparse, str(stored.layout),
            t.ones(2).is_sparse, stored.dtype, tuple(stored.size()), stored.sparse_dim(),
            stored.dense_dim(), stored.is_coalesced(), str(stored.t()), stored.numel(),
            repr(t.sparse_coo_tensor([[0], [1]], t.ones(1).requires_grad_(), (2, 2))),
        )  # fmt: skip

    assert program(mtd) == tuple(mtd.float32 if x is torch.float32 else x for x in program(torch))


def test_refusals() -> None:
    for wrong in (
        lambda t: matrix(t, t.from_numpy(NUMBERS)).indices(),
        lambda t: t.ones(2, 2).indices(),
        lambda t: t.ones(2, 2).coalesce(),
        lambda t: matrix(t, t.ones(3)) @ t.ones(5, 2),
    ):
        assert kind_of_error(partial(wrong, mtd)) == kind_of_error(partial(wrong, torch))


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x.exp(), lambda x: x[0], lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x + 1,
        lambda x: mtd.ones(2, 3).double() @ x, lambda x: x.reshape(4, 3), lambda x: mtd.cat([x, x]),
        lambda x: x.to_sparse_csr(), lambda x: x * mtd.ones(3, 4).double(), lambda x: x.sum(),
        lambda x: mtd.nn.functional.relu(x), lambda x: x.clone().zero_(), lambda x: x @ x.t(),
    ],
)  # fmt: skip
def test_other_operations_are_refused_and_name_what_is_offered(operation: Any) -> None:
    stored = matrix(mtd, mtd.from_numpy(NUMBERS))
    with pytest.raises(NotImplementedError, match=r"is not offered for sparse tensors.*to_dense"):
        operation(stored)


def test_a_graph_convolution_takes_the_same_steps() -> None:
    """Kipf's layer as public programs write it: torch.spmm(adj, x @ w)."""

    def program(t: Any, x: Any, w: Any, v: Any) -> Any:
        adjacent = (t.eye(4) + t.ones(4, 4).triu(2)).double().to_sparse()
        hidden = t.nn.functional.relu(t.spmm(adjacent, t.mm(x, w)))
        return t.spmm(adjacent, t.mm(hidden, v)).log_softmax(1)

    draw = np.random.default_rng(0)
    same(program, *(draw.normal(size=s) for s in ((4, 3), (3, 5), (5, 2))))


def test_to_sparse_coo_is_to_sparse() -> None:
    given = [[0.0, 2.0], [3.0, 0.0]]
    ours, theirs = mtd.tensor(given).to_sparse_coo(), torch.tensor(given).to_sparse_coo()
    assert ours.indices().tolist() == theirs.indices().tolist()
    assert ours.values().tolist() == theirs.values().tolist()
