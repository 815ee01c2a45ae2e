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


def test_settings_of_a_compiler_can_be_made() -> None:
    """As modded-nanogpt, gpt-fast and torchtitan make them."""
    import minitorch_dist._inductor.config as config

    mtd._dynamo.config.cache_size_limit = 64
    mtd._dynamo.config.suppress_errors = True
    config.coordinate_descent_tuning = True
    mtd._inductor.config.triton.unique_kernel_names = True
    assert (config.triton.unique_kernel_names, mtd._dynamo.config.cache_size_limit) == (True, 64)
    with mtd._dynamo.config.patch(cache_size_limit=8, verbose=True), config.patch("a", 1):
        assert (mtd._dynamo.config.cache_size_limit, config.a) == (8, 1)
    assert mtd._dynamo.config.cache_size_limit == 64 and not hasattr(mtd._dynamo.config, "verbose")
    with pytest.raises(AttributeError, match="was not set: nothing is compiled here"):
        print(config.fx_graph_cache)
    mtd._dynamo.reset()
    x = mtd.ones(2)
    mtd._dynamo.mark_dynamic(x, 0)
    assert (
        mtd._dynamo.disable(mtd.relu)(x) is not None
        and mtd._dynamo.optimize()(mtd.relu) is mtd.relu
    )
    assert not mtd._dynamo.is_compiling()


@pytest.mark.parametrize("name", ["optimize", "graph_break", "mark_dynamic", "maybe_mark_dynamic", "mark_static", "mark_static_address"])  # fmt: skip
def test_names_of_arguments_of_dynamo(name: str) -> None:
    ours = inspect.signature(getattr(mtd._dynamo, name)).parameters
    theirs = inspect.signature(getattr(torch._dynamo, name)).parameters
    listed = [p for p in theirs.values() if p.kind is not p.VAR_KEYWORD]
    assert {p.name for p in listed} <= {*ours, "args"} or "options" in ours
