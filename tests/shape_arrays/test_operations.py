"""Every public operation gives on arrays without numbers what it gives on numbers: shape, type, strides, device, gradients,
and the type of an error. And it takes a few bytes for each tensor.

The walk begins with the public lists themselves (`walking`). Each operation is called with many lists of arguments on
one form; those that it accepts are tried on two other forms. An operation that accepts none fails the test, until it has
arguments of its own in `calls`.
"""

from __future__ import annotations

import functools
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.tensors.shape_arrays import mode
from tests.shape_arrays import walking
from tests.shape_arrays.agreeing import NEEDS_NUMBERS, compared, difference, outcome, without_numbers
from tests.shape_arrays.calls import FLAT, Arguments, Form, called, lists_of

F = mtd.nn.functional

TURNED = Form((2, 3), "turned")
OTHERS = [
    Form((3, 1, 2), kind=mtd.float64),
    Form(()),
    Form((0, 3), kind=mtd.float64),
    Form((2, 2, 3), "turned", mtd.bfloat16),
    Form((4, 3), "stepped", mtd.int64),
    Form((3, 2), kind=mtd.complex64),
    Form((1, 2), "turned", mtd.bool),
    Form((5,), "stepped", mtd.float16),
    Form((2, 1, 3, 2), "turned", mtd.uint8),
]
LARGE = Form((256, 1024))  # whose numbers would take 1 MB
A_FEW_BYTES = 1024


@functools.cache
def walked(room: str) -> tuple[dict[str, list[int]], list[str]]:
    """The numbers of the lists that each operation accepts with numbers; and all differences on the first form."""
    accepted: dict[str, list[int]] = {}
    wrong = []
    for name, function in walking.operations(room).items():
        accepted[name] = []
        for number, make in enumerate(lists_of(name)):
            before, found = tried(name, function, make, TURNED)
            if not isinstance(before, Exception):
                accepted[name].append(number)
            if found is not None:
                wrong.append(f"{name}, arguments {number}: {found}")
        if not accepted[name]:  # perhaps it wants three dimensions, or none
            lists = lists_of(name)
            accepted[name] += [n for n in range(len(lists)) if accepts(function, lists[n])]
    return accepted, wrong


def tried(name: str, function: Any, make: Arguments, form: Form) -> tuple[Any, str | None]:
    """The outcome with numbers, and a difference that is not known."""
    call = functools.partial(called, function, make, form)
    before = outcome(call)
    found = compared(before, without_numbers(call))
    return before, None if found is None or walking.is_known(name, found) else found


def accepts(function: Any, make: Arguments) -> bool:
    return any(
        not isinstance(outcome(functools.partial(called, function, make, form)), Exception) for form in OTHERS[:2]
    )


@pytest.mark.slow
@pytest.mark.parametrize("room", walking.ROOMS)
def test_an_operation_gives_what_it_gives_on_numbers(room: str) -> None:
    """And it refuses what it refuses on numbers."""
    accepted, wrong = walked(room)
    assert not wrong, "\n".join(wrong)
    assert [name for name, numbers in accepted.items() if not numbers] == [], "calls.py has no arguments"


@pytest.mark.slow
@pytest.mark.parametrize("room", walking.ROOMS)
def test_it_does_so_on_other_forms(room: str) -> None:
    """Of other types, lengths and strides: two of them for each list of arguments."""
    functions, wrong = walking.operations(room), []
    for name, numbers in walked(room)[0].items():
        lists = lists_of(name)
        for number in numbers:
            first = zlib.crc32(f"{name} {number}".encode())
            for form in (OTHERS[first % len(OTHERS)], OTHERS[(first + 4) % len(OTHERS)]):
                _, found = tried(name, functions[name], lists[number], form)
                if found is not None:
                    wrong.append(f"{name}, arguments {number}, {form}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_what_asks_for_numbers_does() -> None:
    """No name stands in the list that works without them."""
    asking = set()
    for room in walking.ROOMS:
        functions = walking.operations(room)
        for name in walking.ASK_FOR_NUMBERS & set(functions):
            lists = lists_of(name)
            calls = [
                functools.partial(called, functions[name], lists[number], TURNED) for number in walked(room)[0][name]
            ]
            if any(difference(call) == NEEDS_NUMBERS for call in calls):
                asking.add(name)
    assert asking == walking.ASK_FOR_NUMBERS


@pytest.mark.slow
@pytest.mark.parametrize("room", walking.ROOMS)
def test_a_tensor_takes_a_few_bytes(room: str) -> None:
    """Those that are made, and those that operations return. The form's sides bound the number of pieces."""
    functions, greedy = walking.operations(room), []
    tracemalloc.start()
    try:
        for name, numbers in walked(room)[0].items():
            lists = lists_of(name)
            for number in [n for n in numbers if n < FLAT or n >= FLAT + 3][:2]:
                call = functools.partial(called, functions[name], lists[number], LARGE)
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                found = without_numbers(call)
                taken = tracemalloc.get_traced_memory()[1] - before
                count = 1 if isinstance(found, Exception) else len(found)
                if taken > (1 << 21) + 8 * A_FEW_BYTES * count:  # views of 2,048 rows, and the graph
                    greedy.append(f"{name}, arguments {number}: {taken:,} bytes for {count} tensors")
                if not isinstance(found, Exception):
                    greedy += [
                        f"{name}: {sys.getsizeof(x.array)} bytes"
                        for x in found
                        if isinstance(x, mtd.Tensor) and sys.getsizeof(x.array) > A_FEW_BYTES
                    ]
                del found
    finally:
        tracemalloc.stop()
    assert not greedy, "\n".join(greedy)


def test_the_comparison_can_fail() -> None:
    """A function that reads numbers, and ones that keep them, give another type or another gradient, are found."""
    x = mtd.ones(3)
    assert difference(lambda: mtd.ones(1).item()) == NEEDS_NUMBERS
    found: list[tuple[Callable[[Any], Any], str]] = [
        (lambda y: x + 1, "has numbers"),
        (lambda y: y.double() if mode.active() else y, "torch.float64"),
        (lambda y: y.detach() if mode.active() else y, "False"),
        (lambda y: y.t().contiguous().t() if mode.active() else y.contiguous(), "[1, 2]"),
        (lambda y: y[5] if mode.active() else y, "IndexError"),
        (lambda y: y if mode.active() else y[5], "IndexError"),
    ]
    for function, words in found:
        _, said = tried("", function, lambda m: (m.grad(),), Form((2, 3)))
        assert words in (said or "")


def test_reasons_are_given_once_and_names_exist() -> None:
    names = [name for each in walking.LEFT_OUT.values() for name in each.split()]
    assert len(names) == len(set(names))
    known = walking.ASK_FOR_NUMBERS | walking.MAY_ASK | walking.REFUSE_VALUES | walking.FAIL_SOMEWHERE
    offered = {name for room in walking.ROOMS.values() for name in dir(room)}
    assert known <= offered and not known & set(names)


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
    "nothing gathered": lambda: gradient(x := leaf(0, 3), x.gather(0, mtd.zeros(0, 3, dtype=mtd.int64))),
    "nothing repeated": lambda: (mtd.repeat_interleave(mtd.zeros(0, dtype=mtd.int64)),),
    "a tensor as a mean": lambda: (mtd.ones(2, 3).normal_(mtd.ones(2, 3)),),
    "a tensor as a diagonal": lambda: (mtd.ones(2, 3).tril(mtd.ones(2, dtype=mtd.int64)),),
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
