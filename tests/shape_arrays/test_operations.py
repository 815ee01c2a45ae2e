"""Every public operation gives on arrays without numbers the shape, dtype, strides, device and error type that it gives
on numbers. Each name is called with many lists of arguments; those that it accepts with numbers are compared."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.tensors.shape_arrays import mode
from tests.shape_arrays.agreeing import difference

F = mtd.nn.functional

# The result's shape, or a plain Python value, depends on the numbers.
NEED_NUMBERS = {
    "nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount", "histogram", "histc", "equal",
    "allclose", "is_nonzero", "item", "tolist", "numpy", "histogramdd", "multinomial", "embedding_bag", "repeat_interleave",
    "one_hot", "where", "from_dlpack", "scalar_tensor", "to_sparse", "to_sparse_coo", "sparse_coo_tensor",
}  # fmt: skip
# Here a tensor may stand for a number, as in `x.split(sizes)` or `x.threshold(tensor)`, and its number is needed.
TENSOR_AS_NUMBER = {
    "broadcast_shapes", "dsplit", "hsplit", "vsplit", "tensor_split", "split", "split_with_sizes", "einsum", "flip",
    "layer_norm", "rms_norm", "logit", "logit_", "pad", "squeeze", "squeeze_", "tensordot", "threshold", "threshold_",
    "logsumexp", "softmax", "log_softmax", "norm", "vector_norm", "cholesky", "svd",
}  # fmt: skip
# Not operations, or they change the process: types, switches, files, what another test looks at.
NOT_OPERATIONS = {
    "set_default_device", "set_default_dtype", "set_num_threads", "set_num_interop_threads", "set_printoptions",
    "use_deterministic_algorithms", "set_deterministic_debug_mode", "set_float32_matmul_precision", "save", "load",
    "launch", "seed", "companion", "manual_seed", "set_rng_state", "set_grad_enabled", "compile", "share_memory_", "is_shared", "to_dlpack",
    "dlpack", "backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "as_subclass", "data_ptr",
    "initial_seed", "get_rng_state", "get_num_threads", "get_num_interop_threads", "is_set_to", "apply_", "set_",
}  # fmt: skip


def arguments(
    shape: tuple[int, ...], turned: bool, kind: Any
) -> list[Callable[[], tuple[Any, ...]]]:
    """Lists of arguments, each made anew for every call."""

    def x(seed: int = 0, dtype: Any = None) -> Any:
        numbers = np.random.default_rng(seed).uniform(0.2, 0.8, shape[::-1] if turned else shape)
        made = mtd.tensor(numbers, dtype=dtype or kind)
        return made.permute(*range(len(shape))[::-1]) if turned else made

    def grad(seed: int = 0) -> Any:
        return x(seed).detach().requires_grad_() * 1

    def index() -> Any:
        return mtd.zeros(shape, dtype=mtd.int64)

    def mask() -> Any:
        return x() > 0.5

    def square() -> Any:
        return mtd.eye(3, dtype=kind) * 2 + 0.1

    last = len(shape) - 1
    return [
        lambda: (grad(),),
        lambda: (grad(), grad(1)),
        lambda: (grad(), grad(1), grad(2)),
        lambda: (grad(), 2),
        lambda: (grad(), 0),
        lambda: (grad(), last),
        lambda: (grad(), 0, last),
        lambda: (grad(), 1, last),
        lambda: (grad(), 0.5),
        lambda: (grad(), 0.2, 0.7),
        lambda: (grad(), shape),
        lambda: (grad(), (2, *shape)),
        lambda: (grad(), (-1,)),
        lambda: (grad(), [1] * len(shape)),
        lambda: (grad(), tuple(range(len(shape)))[::-1]),
        lambda: (grad(), grad(1), 1, 0.5),
        lambda: (grad(), 0, index()),
        lambda: (grad(), 0, index(), grad(1)),
        lambda: (grad(), 0, index()[:, 0] if len(shape) > 1 else index()),
        lambda: (grad(), 0, index()[:, 0] if len(shape) > 1 else index(), grad(1)),
        lambda: (grad(), index()),
        lambda: (grad(), mask()),
        lambda: (grad(), mask(), 0.5),
        lambda: (grad(), mask(), grad(1)),
        lambda: (mask(), grad(), grad(1)),
        lambda: (index(),),
        lambda: (index(), index()),
        lambda: (index(), 2),
        lambda: (index(), grad()),
        lambda: (mask(),),
        lambda: (mask(), mask()),
        lambda: ([grad(), grad(1)],),
        lambda: ([grad(), grad(1)], last),
        lambda: (square(),),
        lambda: (square(), square()),
        lambda: (square(), 2),
        lambda: (grad().reshape(-1), grad(1).reshape(-1)),
        lambda: (grad().reshape(shape[0], -1), grad(1).reshape(shape[0], -1).t()),
        lambda: (grad().reshape(-1),),
        lambda: (shape,),
        lambda: (3,),
        lambda: (shape, 0.5),
    ]


def names(room: Any) -> list[str]:
    found = [n for n in dir(room) if not n.startswith("_") and callable(getattr(room, n))]
    return [n for n in found if n not in NOT_OPERATIONS and not inspect.isclass(getattr(room, n))]


ROOMS = {
    "the package": mtd,
    "Tensor": mtd.Tensor,
    "functional": F,
    "linalg": mtd.linalg,
    "special": mtd.special,
    "fft": mtd.fft,
}
# One element may stand for a number, so that shapes of one element would ask for it nearly everywhere.
TURNED, PLAIN = ((2, 3), True, mtd.float32), ((3, 1, 2), False, mtd.float64)
CASES = [
    ("the package", TURNED), ("Tensor", PLAIN), ("functional", TURNED), ("functional", PLAIN),
    ("linalg", TURNED), ("linalg", PLAIN), ("special", TURNED), ("special", PLAIN), ("fft", TURNED), ("fft", PLAIN),
]  # fmt: skip
# Of turned operands, numpy lays these results out by rules of its own, which are not followed: the shape is compared.
LAID_OUT_OTHERWISE = {"hardshrink", "softplus"}


def disagreements(room: str, shape: tuple[int, ...], turned: bool, kind: Any) -> list[str]:
    lists = arguments(shape, turned, kind)
    wrong = []
    for name in names(ROOMS[room]):
        function = getattr(ROOMS[room], name)
        for number, given in enumerate(lists):
            laid_out = name not in LAID_OUT_OTHERWISE
            found = difference(lambda f=function, a=given: (f(*a()),), laid_out)
            if found == "needs numbers" and name in NEED_NUMBERS | TENSOR_AS_NUMBER:
                continue
            if found is not None:
                wrong.append(f"{name}, arguments {number}: {found}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(("room", "case"), CASES, ids=str)
def test_an_operation_gives_what_it_gives_on_numbers(
    room: str, case: tuple[tuple[int, ...], bool, Any]
) -> None:
    wrong = disagreements(room, *case)
    assert not wrong, "\n".join(wrong)


def test_the_comparison_can_fail() -> None:
    """A function that reads numbers, and one that keeps them, are found."""
    x = mtd.ones(3)
    assert difference(lambda: mtd.ones(1).item()) == "needs numbers"
    assert "has numbers" in (difference(lambda: x + 1) or "")


@pytest.mark.parametrize("kind", [mtd.float32, mtd.bfloat16, mtd.int64, mtd.complex64], ids=str)
@pytest.mark.parametrize(("lines", "places"), [(300, 20), (20, 300), (9000, 20)])
def test_many_numbers_are_added_to_places(kind: Any, lines: int, places: int) -> None:
    """With numbers, many of them are brought in order first. Without, there is nothing to order."""

    def added() -> tuple[Any, ...]:
        x, source = mtd.zeros(lines, 20, dtype=kind), mtd.ones(places, 20, dtype=kind)
        index = mtd.zeros(places, 20, dtype=mtd.int64)
        return x.scatter_add(0, index, source), x.index_add(0, index[:, 0], source)

    def gathered() -> tuple[Any, ...]:
        x = mtd.zeros(lines, 20, requires_grad=True)
        return (x.gather(0, mtd.zeros(places, 20, dtype=mtd.int64)) * 1,)

    assert difference(added) is None
    assert difference(gathered) is None


def gradient(x: Any, out: Any) -> tuple[Any, ...]:
    return out, *mtd.autograd.grad([out], [x], [mtd.ones_like(out)])


def leaf(*shape: int, kind: Any = mtd.float32) -> Any:
    return mtd.ones(shape, dtype=kind).requires_grad_()


FOUND: dict[str, Callable[[], tuple[Any, ...]]] = {
    "a write through a view": lambda: gradient(x := leaf(4, 3), (x * 1).reshape(-1).neg_()),
    "a write through a window": lambda: gradient(x := leaf(4, 3), (x * 1)[1:, ::2].zero_()),
    "one of several pieces": lambda: gradient(x := leaf(5, 3), x.split(2)[1] * 1),
    "one of several rows": lambda: gradient(x := leaf(5, 3), x.unbind(1)[1] * 1),
    "parts of complex numbers": lambda: gradient(
        x := leaf(4, kind=mtd.complex64), mtd.view_as_real(x * 1)
    ),
    "complex numbers of parts": lambda: gradient(x := leaf(4, 2), mtd.view_as_complex(x * 1).abs()),
    "angles": lambda: gradient(x := leaf(4, kind=mtd.complex64), x.angle()),
    "nothing gathered": lambda: gradient(
        x := leaf(0, 3), x.gather(0, mtd.zeros(0, 3, dtype=mtd.int64))
    ),
    "nothing repeated": lambda: (mtd.repeat_interleave(mtd.zeros(0, dtype=mtd.int64)),),
    "an empty transform": lambda: (mtd.fft.fft(mtd.zeros(0)),),
    "a tensor as a number": lambda: (mtd.ones(2, 3).nan_to_num(mtd.ones(2, 3)),),
    "a tensor as a mean": lambda: (mtd.ones(2, 3).normal_(mtd.ones(2, 3)),),
    "a tensor as a diagonal": lambda: (mtd.ones(2, 3).tril(mtd.ones(2, dtype=mtd.int64)),),
    "a tensor to fill with": lambda: (mtd.ones(2, 2).fill_diagonal_(mtd.ones(2)),),
    "a sequence of no dimension": lambda: (mtd.searchsorted(mtd.ones(()), mtd.ones(())),),
    "a pointwise convolution with strides": lambda: gradient(
        x := leaf(2, 3, 5, 5), F.conv2d(x, mtd.ones(4, 3, 1, 1), stride=2)
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_a_longer_walk_found(what: str) -> None:
    """Gradients, empty tensors and complex numbers, which the lists above do not reach."""
    assert difference(FOUND[what]) is None


@pytest.mark.parametrize("sides", [(2, 3), (1, 3), (3, 1, 2), (2, 1, 1, 3)])
def test_stacked_and_repeated_arrays_lie_as_numpys_do(sides: tuple[int, ...]) -> None:

    def turned() -> Any:
        return mtd.ones(sides[::-1]).permute(*range(len(sides))[::-1]) * 1

    for dim in range(len(sides)):
        assert difference(lambda d=dim: (mtd.stack([turned(), turned()], d),)) is None
        assert difference(lambda d=dim: (mtd.cat([turned(), mtd.ones(sides)], d),)) is None
    assert difference(lambda: (mtd.stack([turned(), turned()], -1),)) is None
    assert difference(lambda: (turned().repeat(*[1] * len(sides)),)) is None


def test_triangles_and_gradients_of_writes_take_no_memory() -> None:
    tracemalloc.start()
    try:
        with mode.without_numbers():
            x = mtd.ones(4096, 4096, requires_grad=True)
            out = x.tril() * 1
            out[1:].neg_()
            out.split(1024)[0].sum().backward()
        assert x.grad is not None and x.grad.shape == x.shape
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
