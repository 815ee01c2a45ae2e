"""Lesson 02: every byte is counted once, every number is found, and a stretched axis costs no byte."""

import sys
from contextlib import contextmanager

import books
import numpy as np
from hypothesis import given

import minitorch_dist as torch
from minitorch_dist.tensors.core import operations
from mtd.course import MeasuredCost, lab, lamp
from mtd.course.loading import beside

oracles = beside(__file__, "oracles")

ROW = 1000 * 8  # bytes of a thousand float64


@contextmanager
def fresh():
    """An empty ledger, within the block. An error of a function that finalize calls is the cause of what is wrong then."""
    before, books.ledger = books.ledger, books.Ledger()
    hook, errors = sys.unraisablehook, []
    sys.unraisablehook = lambda found: errors.append(
        f"{found.exc_type.__name__}: {found.exc_value}"
    )
    try:
        yield books.ledger
    except AssertionError:
        called(errors)
        raise
    finally:
        books.ledger, sys.unraisablehook = before, hook
    called(errors)


def called(errors):
    """Only Python sees such an error: nobody called the function that raised it."""
    assert not errors, (
        f"a storage was freed, and what finalize called then raised {errors[0]}. It calls the function with the "
        "arguments that you gave after it, in their order; leave takes the bytes first, then the category"
    )


@lamp("counted")
def counted():
    """The bytes that live, by category, and the peak; and where numpy had to copy."""
    entries()
    copies()


def entries():
    with fresh() as ledger:
        kept = [books.Tensor(np.zeros((10, 4)), name) for name in ("parameter", "gradient")]
        expected = dict.fromkeys(books.CATEGORIES, 0) | {"parameter": 320, "gradient": 320}
        assert ledger.peak or ledger.live, (
            f"two tensors of 320 bytes live, and the ledger says {ledger!r}: nothing was added, or it was subtracted at "
            "once. Give weakref.finalize the function itself. Its arguments come after it."
        )
        assert ledger.by_category == expected, (
            f"a parameter and a gradient of 10 · 4 numbers live, 320 bytes each; the ledger says {ledger!r}"
        )
        before = ledger.by_category["parameter"]
        kept.append(books.Tensor(np.zeros(5), "parameter"))
        assert ledger.by_category["parameter"] == before + 40, (
            f"another parameter of 5 numbers is made, 40 bytes more: the entry adds to {before} bytes, and does not "
            f"replace them; the ledger says {ledger!r}"
        )
        kept.append(kept[0] + kept[1])
        assert ledger.by_category["activation"] == 320, (
            f"their sum is an activation of 320 bytes more; the ledger says {ledger!r}"
        )
        assert ledger.peak == 1000, f"1000 bytes lived at once, the peak says {ledger.peak}"


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
        assert not isinstance(copy, np.ndarray), (
            "window gave the numpy array as it is. Make a Tensor that shows it"
        )
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
        views = [x.T, x.reshape(1000), x.reshape(10, 100), x[0], x[:, 5:50], x[:, ::-2]]
        views.append(views[2].T[3])
        return MeasuredCost(
            ledger.live,
            ROW,
            unit=" bytes",
            where=f"one row of {ROW} bytes and {len(views)} views of it",
        )


@lamp("places", star=2)
def places():
    """A storage that holds 0, 1, 2, …: there each number is its own place, in whatever view."""
    x = oracles.numbered(4, 6)
    for words, view in (
        ("x", x),
        ("x.T", x.T),
        ("x[2]", x[2]),
        ("x[:, 3]", x[:, 3]),
        ("x[1:3, ::2]", x[1:3, ::2]),
        ("x[::-1].T", x[::-1].T),
        ("x.reshape(2, 12)[1]", x.reshape(2, 12)[1]),
    ):
        oracles.each_is_its_place(words, view, x)
    oracles.anywhere()


# --------------------------------------------------------------------------------- the shape of a result


@lamp("shapes")
def shapes():
    """Pairs one can follow on paper, then any: numpy's shape, or a ValueError where numpy has one."""
    for a, b in [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((4, 2, 3), (2, 1)), ((), (2, 3)),
        ((), ()), ((1,), (0,)), ((0, 3), (1, 3)), ((2, 3), (2,)), ((2, 3), (3, 3)), ((2, 3), (0, 3)), ((1, 2), (3,)),
    ]:  # fmt: skip
        oracles.meet(a, b)
    oracles.any_two()


# --------------------------------------------------------------------------------- a view of it


@lamp("strides", star=2)
def strides():
    """Rows, columns, turned and reversed views; then any. Nothing is read before the strides are right."""
    x = np.arange(6.0).reshape(2, 3)
    for array, shape in [
        (x[0], (2, 3)), (x, (4, 2, 3)), (x[:1], (2, 3)), (x[:, :1], (2, 3)), (x[:, :1], (4, 2, 3)), (x.T, (2, 3, 2)),
        (x[:, ::-1], (2, 2, 3)), (x[0, 0, ...], (2, 3)), (x, (2, 3)), (x[:, :1], (2, 0)),
    ]:  # fmt: skip
        oracles.stretch(array, shape)
    oracles.any_view()


@lamp("no copy", star=3)
def no_copy():
    """A row, seen as a million numbers, as two million, and as itself."""
    row = np.zeros((1, 1000))
    with fresh() as ledger:
        x, views = books.Tensor(row, "parameter"), []
        for shape in [(1000, 1000), (2, 1000, 1000), (1, 1000)]:
            oracles.has_strides(row, shape)
            views.append(books.expand(x, *shape))
        return MeasuredCost(
            ledger.live,
            ROW,
            unit=" bytes",
            where=f"one row of {ROW} bytes, expanded to {', '.join(str(v.shape) for v in views)}",
        )


# --------------------------------------------------------------------------------- and back


@lamp("sum_to")
def back():
    """Shapes one can follow on paper, then any: ⟨sum_to(g), x⟩ = ⟨g, x broadcast⟩, in whole numbers."""
    for full, shape in [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((2, 3), (1,)),
        ((2, 3), ()), ((4, 2, 3), (2, 1)), ((4, 2, 3), (4, 1, 3)), ((1, 3), (1, 3)), ((), ()), ((0, 3), (3,)),
    ]:  # fmt: skip
        adjoint(full, shape, 1)
    anything()


@lab.learn
@given(oracles.broadcast())
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
    ours, operations.sum_to = (
        operations.sum_to,
        lambda grad, shape: books.sum_to(grad, shape),
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


def bytes_of_a_slice():
    with fresh() as ledger:
        x = books.Tensor(np.zeros(1_000_000))
        first = x[:10]
        del x
        return ledger.live if first.shape == (10,) else None


def bytes_of_a_column_order():
    with fresh() as ledger:
        x = books.Tensor(np.zeros((1000, 100)))
        before = ledger.live
        flat = x.T.reshape(100_000)
        return ledger.live - before if flat.shape else None


def bytes_of_expanding():
    with fresh() as ledger:
        row = books.Tensor(np.zeros((1, 1000)))
        before = ledger.live
        wide = books.expand(row, 1000, 1000)
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
        b = books.Tensor(np.ones((4, 10)), "parameter")
        show("b = Tensor((4, 10))")
        views = [w.T, w[1], w[:, ::2]]
        show("w.T; w[1]; w[:, ::2]")
        y = w * b
        show("y = w * b")
        y = y + b
        show("y = y + b")
        del y, views
        show("del y")
        lines.append(f"{'at the peak':<24} {'':<32} {ledger.peak:>5} bytes")
    return "\n".join([*lines, "", *steps(), "", *stretched()])


def steps():
    """Where the numbers of some views lie in one storage of six."""
    lines = [
        "the places in the storage of x = Tensor((2, 3)), as each view shows them",
        "",
    ]
    x = books.Tensor(np.arange(6.0).reshape(2, 3))
    for name, view in (("x", x), ("x.T", x.T), ("x[1]", x[1]), ("x[:, ::-1]", x[:, ::-1])):
        found = " ".join(str(view.place(*index)) for index in np.ndindex(view.shape))
        lines.append(f"{name:<12} offset {view.offset}   strides {view.strides!s:<10} {found}")
    return lines


def stretched():
    """A small array in a larger shape: which of its numbers stands where; and how often each is used."""
    lines = []
    for name, array, full in (
        ("a row", np.arange(3.0), (2, 3)),
        ("bias", np.arange(2.0).reshape(2, 1), (4, 2, 3)),
    ):
        oracles.stretch(array, full)
        x = books.Tensor(array)
        wide = books.expand(x, *full)
        met = books.broadcast_shapes(full, array.shape)
        uses = books.sum_to(np.ones(met), array.shape)
        lines += [
            f"{name} {array.shape} in {met}, strides {x.strides} → {wide.strides}",
            *rows_of(wide.array),
            f"  each number is used {uses.flat[0]:g} times: that many parts come back to it",
            "",
        ]
    return lines[:-1]


def rows_of(array):
    """The numbers, which are places; further axes beside each other."""
    blocks = array.reshape(-1, *array.shape[-2:])
    for row in range(array.shape[-2]):
        yield "    " + "     ".join(" ".join(f"{n:g}" for n in block[row]) for block in blocks)
