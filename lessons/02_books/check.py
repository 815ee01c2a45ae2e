"""Lesson 02: every byte is counted once, for as long as it lives, and sums undo broadcasting."""

from contextlib import contextmanager

import books
import numpy as np
from hypothesis import given, strategies as st

import minitorch_dist as torch
from minitorch_dist.course import MeasuredCost, lab, lamp
from minitorch_dist.tensors.core import operations

ROW = 1000 * 8  # bytes of a thousand float64


@contextmanager
def fresh():
    """An empty ledger, within the block."""
    before, books.ledger = books.ledger, books.Ledger()
    try:
        yield books.ledger
    finally:
        books.ledger = before


@lamp("counted")
def counted():
    """The bytes that live, by category, and the peak; and where numpy had to copy."""
    entries()
    copies()


def entries():
    with fresh() as ledger:
        kept = [books.Tensor(np.zeros((10, 4)), name) for name in ("parameter", "gradient")]
        expected = dict.fromkeys(books.CATEGORIES, 0) | {"parameter": 320, "gradient": 320}
        assert ledger.by_category == expected, (
            f"a parameter and a gradient of 10 · 4 numbers live, 320 bytes each; the ledger says {ledger!r}"
        )
        kept.append(kept[0] + kept[1])
        assert ledger.by_category["activation"] == 320, (
            f"their sum is an activation of 320 bytes more; the ledger says {ledger!r}"
        )
        assert ledger.peak == 960, f"960 bytes lived at once, the peak says {ledger.peak}"


@lamp("freed", star=2)
def freed():
    """When the last tensor on a storage goes, the entry goes."""
    with fresh() as ledger:
        x = books.Tensor(np.zeros(10), "gradient")
        row = x.reshape(2, 5)[1]
        del x
        assert ledger.live == 80, (
            f"x is deleted, but a view of its 80 bytes still lives; the ledger says {ledger!r}"
        )
        del row
        assert ledger.live == 0, (
            f"x and its views are deleted, and the ledger still says {ledger!r}. Either nobody crosses them "
            "out, or something that you keep (an argument of finalize?) leads to the storage, so that it lives on"
        )
        assert ledger.by_category["gradient"] == 0, f"other bytes were crossed out: {ledger!r}"

        def compute():
            a = books.Tensor(np.zeros(10))
            return (a + a) * a  # two storages that only this function knows

        found = compute()
        assert ledger.live == 80, f"only the result, 80 bytes, is left; the ledger says {ledger!r}"
        assert ledger.peak == 240, (
            f"a, a + a and (a + a) · a are 240 bytes; the peak says {ledger.peak}"
        )
        del found


def copies():
    """Where numpy had to copy there are new bytes."""
    with fresh() as ledger:
        x = books.Tensor(np.arange(6.0).reshape(2, 3), "parameter")
        copy = x.T.reshape(6)
        assert ledger.live == 96, (
            f"x.T.reshape(6) cannot be a view of x, numpy copies: 2 · 48 bytes; the ledger says {ledger!r}"
        )
        picked = x[[0, 1, 1]]
        assert ledger.live == 168, (
            f"x[[0, 1, 1]] picks rows with a list, which copies 72 bytes more; the ledger says {ledger!r}"
        )
        assert copy.array.tolist() == [0, 3, 1, 4, 2, 5] and picked.shape == (3, 3)


@lamp("memory")
def memory():
    """A parameter, looked at in seven ways."""
    with fresh() as ledger:
        x = books.Tensor(np.zeros((1, 1000)), "parameter")
        views = [x.T, x.reshape(1000), x.reshape(10, 100), x[0], x[:, 5:50], x.expand(1000, 1000)]
        views.append(views[2].T[3])
        return MeasuredCost(
            ledger.live,
            ROW,
            unit=" bytes",
            where=f"one row of {ROW} bytes and {len(views)} views of it",
        )


@lamp("right")
def right():
    """Shapes one can follow on paper, then any: ⟨sum_to(g), x⟩ = ⟨g, x broadcast⟩, in whole numbers."""
    for full, shape in [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((2, 3), (1,)),
        ((2, 3), ()), ((4, 2, 3), (2, 1)), ((4, 2, 3), (4, 1, 3)), ((1, 3), (1, 3)), ((), ()), ((0, 3), (3,)),
    ]:  # fmt: skip
        adjoint(full, shape, 1)
    anything()


@st.composite
def broadcast(draw):
    """A shape, and one that broadcasts to it; and a seed."""
    full = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    kept = full[draw(st.integers(0, len(full))) :]
    return full, tuple(1 if draw(st.booleans()) else n for n in kept), draw(st.integers(0, 99))


@lab.learn
@given(broadcast())
def anything(drawn):
    adjoint(*drawn)


def adjoint(full, shape, seed):
    random = np.random.default_rng(seed)
    x, grad = (random.integers(-9, 10, n).astype(np.float64) for n in (shape, full))
    found = books.sum_to(grad.copy(), shape)
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
    ours, operations.sum_to = operations.sum_to, lambda grad, shape: books.sum_to(grad, shape)
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


def bytes_of_expanding():
    with fresh() as ledger:
        row = books.Tensor(np.zeros((1, 1000)))
        before = ledger.live
        wide = row.expand(1000, 1000)
        return ledger.live - before if wide.shape else None


def bytes_of_adding():
    with fresh() as ledger:
        row, column = books.Tensor(np.zeros((1, 1000))), books.Tensor(np.zeros((1000, 1)))
        before = ledger.live
        total = row + column
        return ledger.live - before if total.shape else None


def picture():
    """The bytes that live, line by line; a letter is 40 bytes."""
    lines = ["what lives after each line; a letter is 40 bytes: p parameter, a activation", ""]
    with fresh() as ledger:

        def show(line):
            held = ledger.by_category
            letters = "".join(name[0] * (held[name] // 40) for name in ("parameter", "activation"))
            lines.append(f"{line:<24} {letters:<32} {ledger.live:>5} bytes")

        w = books.Tensor(np.ones((4, 10)), "parameter")
        show("w = Tensor((4, 10))")
        b = books.Tensor(np.ones((1, 10)), "parameter")
        show("b = Tensor((1, 10))")
        views = [w.T, b.expand(4, 10)]
        show("w.T; b.expand(4, 10)")
        y = w * b
        show("y = w * b")
        y = y + b
        show("y = y + b")
        del y, views
        show("del y")
        lines.append(f"{'at the peak':<24} {'':<32} {ledger.peak:>5} bytes")
    return "\n".join(lines)
