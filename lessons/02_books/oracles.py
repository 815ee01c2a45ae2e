"""Views and stretched arrays of any shape, beside numpy's."""

import books
import numpy as np
from hypothesis import given, strategies as st

from mtd.course import lab


def numbered(*shape):
    """A tensor whose numbers say where they lie."""
    return books.Tensor(np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape))


def each_is_its_place(words, view, x):
    assert view.storage is x.storage or not view.array.size, (
        f"{words} shows the numbers of x and has a storage of its own: look at blank 2"
    )
    numbers = view.array.copy()
    x.array[...] = -1  # a place is found without reading the numbers
    found_at = {index: view.place(*index) for index in np.ndindex(view.shape)}
    x.array[...] = np.arange(x.array.size).reshape(x.shape)
    for index, number in np.ndenumerate(numbers):
        found = found_at[index]
        if found == -1:
            raise AssertionError(
                f"{words}: place{index} says {found}, which is the number that stands there now. A place follows from the "
                "offset, the strides and the index alone"
            )
        if found != number:
            call = f"place({', '.join(map(str, index))})"
            raise AssertionError(
                f"x holds 0, 1, 2, … row by row, so that each number is its own place. {words} has the offset {view.offset} "
                f"and the strides {view.strides}, and the number at {index} is {number:g}; {call} says {found}"
            )


STEPS = st.sampled_from(
    [slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1)]
)

LOOKS = st.lists(
    st.none() | st.integers(0, 1) | st.lists(STEPS, min_size=3, max_size=3), max_size=3
)


@lab.learn
@given(st.lists(st.integers(1, 4), max_size=3), LOOKS)
def anywhere(shape, looks):
    """Views of views: turned (None), a row of them (a number), or a part along each axis."""
    x = view = numbered(*shape)
    words = f"x, of shape {x.shape}"
    for look in looks:
        if look is None:
            view, words = view.T, f"{words}, .T"
        elif isinstance(look, list) and view.shape:
            parts = tuple(look[: len(view.shape)])
            view, words = view[parts], f"{words}, {said(parts)}"
        elif isinstance(look, int) and len(view.shape) > 1 and view.shape[0] > look:
            view, words = view[look], f"{words}, [{look}]"
    each_is_its_place(words, view, x)


def said(parts):
    """[1:, ::2]"""
    bounds = ([part.start, part.stop, *[part.step] * (part.step is not None)] for part in parts)
    return (
        "[" + ", ".join(":".join("" if n is None else str(n) for n in one) for one in bounds) + "]"
    )


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
        found = books.broadcast_shapes(a, b)
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
    seen = books.expand(books.Tensor(array), *shape).array
    assert seen.shape == shape and np.array_equal(seen, np.broadcast_to(array, shape)), (
        f"expand of {array.tolist()} to {shape} is {seen.tolist()}"
    )


def has_strides(array, shape):
    found = books.expanded_strides(array.shape, array.strides, shape)
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
