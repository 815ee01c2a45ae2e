"""Lesson 2.5: shapes meet as numpy's do, a stretched axis costs no byte, and sums undo it all."""

from contextlib import contextmanager

import books
import broadcasting
import numpy as np
from hypothesis import given, strategies as st

import minitorch_dist as torch
from minitorch_dist.tensors.core import operations
from mtd.course import MeasuredCost, lab, lamp

ROW = 1000 * 8  # bytes of a thousand float64

# --------------------------------------------------------------------------------- the shape of a result


@lamp("shapes")
def shapes():
    """Pairs one can follow on paper, then any: numpy's shape, or a ValueError where numpy has one."""
    for a, b in [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((4, 2, 3), (2, 1)), ((), (2, 3)),
        ((), ()), ((1,), (0,)), ((0, 3), (1, 3)), ((2, 3), (2,)), ((2, 3), (3, 3)), ((2, 3), (0, 3)), ((1, 2), (3,)),
    ]:  # fmt: skip
        meet(a, b)
    any_two()


SIZES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@lab.learn
@given(SIZES, SIZES)
def any_two(a, b):
    meet(a, b)


def meet(a, b):
    where = f"broadcast_shapes({a}, {b})"
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        wanted = None
    try:
        found = broadcasting.broadcast_shapes(a, b)
    except ValueError as error:
        assert wanted is None, f"{where} raises a ValueError ({error}), expected {wanted}"
        return
    except Exception as error:
        asked = "a ValueError" if wanted is None else wanted
        raise AssertionError(f"{where} raises {type(error).__name__}, expected {asked}") from error
    assert not (isinstance(found, ValueError) or found is ValueError), (
        f"{where} returns a ValueError. `raise` it: then the caller stops, too"
    )
    assert wanted is not None, (
        f"{where} is {found}, expected a ValueError: along some axis two sizes differ, and neither is 1"
    )
    assert found == wanted, f"{where} is {found}, expected {wanted}"


# --------------------------------------------------------------------------------- a view of it


@lamp("strides", star=2)
def strides():
    """Rows, columns, turned and reversed views; then any. Nothing is read before the strides are right."""
    x = np.arange(6.0).reshape(2, 3)
    for array, shape in [
        (x[0], (2, 3)), (x, (4, 2, 3)), (x[:1], (2, 3)), (x[:, :1], (2, 3)), (x[:, :1], (4, 2, 3)), (x.T, (2, 3, 2)),
        (x[:, ::-1], (2, 2, 3)), (x[0, 0, ...], (2, 3)), (x, (2, 3)), (x[:, :1], (2, 0)),
    ]:  # fmt: skip
        stretch(array, shape)
    any_view()


@st.composite
def broadcast(draw):
    """A shape, and one that broadcasts to it; and a seed."""
    full = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    kept = full[draw(st.integers(0, len(full))) :]
    return full, tuple(1 if draw(st.booleans()) else n for n in kept), draw(st.integers(0, 99))


@lab.learn
@given(broadcast(), st.booleans(), st.sampled_from([1, 2, -1]))
def any_view(drawn, turned, step):
    """Of numbers that lie in rows or in columns, one after another, with gaps or from right to left."""
    full, shape, _ = drawn
    wider = tuple(n * abs(step) for n in shape)
    array = np.arange(np.prod(wider, dtype=int) * 1.0)
    array = array.reshape(wider[::-1]).T if turned else array.reshape(wider)
    stretch(array[(*[slice(None, None, step)] * array.ndim, ...)], full)


def stretch(array, shape):
    """The strides first: with wrong ones, `expand` would read memory that is not the array's."""
    has_strides(array, shape)
    if 0 in shape:  # there is nothing to see
        return
    seen = broadcasting.expand(books.Tensor(array), *shape).array
    assert seen.shape == shape and np.array_equal(seen, np.broadcast_to(array, shape)), (
        f"expand of {array.tolist()} to {shape} is {seen.tolist()}"
    )


def has_strides(array, shape):
    found = broadcasting.expanded_strides(array.shape, array.strides, shape)
    wanted = np.broadcast_to(array, shape).strides
    where = f"expanded_strides({array.shape}, {array.strides}, {shape})"
    assert isinstance(found, tuple | list), (
        f"{where} is {found!r}, expected a tuple with a stride for each axis"
    )
    assert len(found) == len(shape), (
        f"{where} is {found}, expected {len(shape)} strides, one for each axis of {shape}"
    )
    for axis, size in enumerate(shape):  # a stride is taken only where there is a next number
        assert size == 1 or 0 in shape or found[axis] == wanted[axis], (
            f"{where} is {tuple(found)}: the stride of axis {axis} is {found[axis]}, expected {wanted[axis]}"
        )


@contextmanager
def fresh():
    """An empty ledger, within the block."""
    before, books.ledger = books.ledger, books.Ledger()
    try:
        yield books.ledger
    finally:
        books.ledger = before


@lamp("memory")
def memory():
    """A row, seen as a million numbers, as two million, and as itself."""
    row = np.zeros((1, 1000))
    with fresh() as ledger:
        x, views = books.Tensor(row, "parameter"), []
        for shape in [(1000, 1000), (2, 1000, 1000), (1, 1000)]:
            has_strides(row, shape)
            views.append(broadcasting.expand(x, *shape))
        return MeasuredCost(
            ledger.live,
            ROW,
            unit=" bytes",
            where=f"one row of {ROW} bytes, expanded to {', '.join(str(v.shape) for v in views)}",
        )


# --------------------------------------------------------------------------------- and back


@lamp("correct")
def right():
    """Shapes one can follow on paper, then any: ⟨sum_to(g), x⟩ = ⟨g, x broadcast⟩, in whole numbers."""
    for full, shape in [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((2, 3), (1,)),
        ((2, 3), ()), ((4, 2, 3), (2, 1)), ((4, 2, 3), (4, 1, 3)), ((1, 3), (1, 3)), ((), ()), ((0, 3), (3,)),
    ]:  # fmt: skip
        adjoint(full, shape, 1)
    anything()


@lab.learn
@given(broadcast())
def anything(drawn):
    adjoint(*drawn)


def adjoint(full, shape, seed):
    random = np.random.default_rng(seed)
    x, grad = (random.integers(-9, 10, n).astype(np.float64) for n in (shape, full))
    found = broadcasting.sum_to(grad.copy(), shape)
    where = f"sum_to(a gradient of shape {full}, {shape})"
    assert found is not None, f"{where} returns nothing"
    assert np.shape(found) == shape, f"{where} has the shape {np.shape(found)}, and not {shape}"
    wanted = wanted_of(grad, shape)
    if not np.array_equal(found, wanted):
        raise AssertionError(
            f"{where} of {grad.tolist()} is {np.asarray(found).tolist()}, expected {wanted.tolist()}"
        )
    assert (found * x).sum() == (grad * np.broadcast_to(x, full)).sum()


def wanted_of(grad, shape):
    """The same in plain loops: each use of a number hands its part back."""
    total = np.zeros(shape)
    origin = np.broadcast_to(np.arange(total.size).reshape(shape), grad.shape)
    for where, part in np.ndenumerate(grad):
        total.flat[origin[where]] += part
    return total


@lamp("plugged in", star=2)
def plugged_in():
    """The library's own tensors, with your sum_to in place of theirs."""
    ours, operations.sum_to = (
        operations.sum_to,
        lambda grad, shape: broadcasting.sum_to(grad, shape),
    )
    try:
        x, bias = torch.ones(4, 3), torch.zeros(3, requires_grad=True)
        scale = torch.ones(4, 1, requires_grad=True)
        ((x + bias) * scale).sum().backward()
    finally:
        operations.sum_to = ours
    for name, p, wanted in (("bias", bias, [4.0] * 3), ("scale", scale, [[3.0]] * 4)):
        assert p.grad.tolist() == wanted, (
            f"((x + bias) * scale).sum(), with x of (4, 3) ones, {name} of {tuple(p.shape)}: "
            f"the gradient of {name} is {p.grad.tolist()}, expected {wanted}"
        )


# --------------------------------------------------------------------------------- questions, picture


def bytes_of_expanding():
    with fresh() as ledger:
        row = books.Tensor(np.zeros((1, 1000)))
        before = ledger.live
        wide = broadcasting.expand(row, 1000, 1000)
        return ledger.live - before if wide.shape else None


def bytes_of_adding():
    with fresh() as ledger:
        row, column = books.Tensor(np.zeros((1, 1000))), books.Tensor(np.zeros((1000, 1)))
        before = ledger.live
        total = row + column
        return ledger.live - before if total.shape else None


def picture():
    """A small array in a larger shape: which of its numbers stands where; and how often each is used."""
    lines = []
    for name, array, full in (
        ("a row", np.arange(3.0), (2, 3)),
        ("a column", np.arange(2.0).reshape(2, 1), (2, 3)),
        ("bias", np.arange(2.0).reshape(2, 1), (4, 2, 3)),
    ):
        stretch(array, full)
        x = books.Tensor(array)
        wide = broadcasting.expand(x, *full)
        met = broadcasting.broadcast_shapes(full, array.shape)
        uses = broadcasting.sum_to(np.ones(met), array.shape)
        lines += [
            f"{name} {array.shape} in {met}, strides {x.strides} → {wide.strides}",
            *rows_of(wide.array),
            f"  each number is used {uses.flat[0]:g} times: that many parts come back to it",
            "",
        ]
    return "\n".join(lines).rstrip()


def rows_of(array):
    """The numbers, which are places; further axes beside each other."""
    blocks = array.reshape(-1, *array.shape[-2:])
    for row in range(array.shape[-2]):
        yield "    " + "     ".join(" ".join(f"{n:g}" for n in block[row]) for block in blocks)
