"""`compile` and `compiler` take torch's arguments and give the results of the function itself."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from minitorch_dist import compiler
from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity

NAMES = [
    "compile", "reset", "allow_in_graph", "disable", "assume_constant_result", "list_backends", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "cudagraph_mark_step_begin", "set_stance",
]  # fmt: skip


@pytest.fixture(autouse=True)
def told() -> Any:
    """Nobody has been warned yet."""
    before = set(compiler._told)
    compiler._told.clear()
    yield
    compiler._told.update(before)


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_are_those_of_torch(name: str) -> None:
    theirs = inspect.signature(
        torch.compile if name == "compile" else getattr(torch.compiler, name)
    )
    ours = inspect.signature(getattr(mtd.compiler, name))
    wanted = [(p.name, p.kind) for p in theirs.parameters.values()]
    assert [(p.name, p.kind) for p in ours.parameters.values()] == wanted
    assert mtd.compile is mtd.compiler.compile


def test_the_results_are_those_of_the_function() -> None:
    def program(t: Any) -> Any:
        @t.compile(disable=True, fullgraph=True)
        def twice(x: Any) -> Any:
            return x * 2

        @t.compiler.disable
        def once(x: Any) -> Any:
            return x * (3 if t.compiler.is_compiling() else 1)

        @t.compiler.disable(recursive=False)
        def thrice(x: Any) -> Any:
            return x * 3

        layer = t.nn.Linear(3, 2)
        compiled = t.compile(layer, disable=True)
        x = t.ones(3)
        is_same = bool((layer(x) == compiled(x)).all())
        return twice(x), once(x), thrice(x), is_same, t.compiler.is_exporting()

    same(program)


def test_it_is_told_once() -> None:
    layer = mtd.nn.Linear(3, 2)
    with pytest.warns(UserWarning, match="no compiler: compile\\(\\) returns the function itself"):
        assert mtd.compile(layer, mode="max-autotune") is layer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mtd.compile(layer, backend="inductor", dynamic=True) is layer
        assert mtd.compile()(layer) is layer
        layer.compile()
        with mtd.compiler.set_stance("force_eager"):
            mtd.compiler.reset()


def test_two_ways_to_say_how_are_refused() -> None:
    same(lambda t: t.compile(abs, mode="default", options={"shape_padding": True}))


def test_a_backend_of_ones_own_is_not_forgotten_silently() -> None:
    with pytest.raises(NotImplementedError, match="Leave backend out"):
        mtd.compile(abs, backend=lambda graph, inputs: graph)
    with pytest.raises(ValueError, match="no stance is named 'sideways'; there are default"):
        mtd.compiler.set_stance("sideways")
    assert mtd.compiler.list_backends() == []
