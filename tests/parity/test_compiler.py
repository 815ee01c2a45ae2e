"""`compile` and `compiler` take torch's arguments and give the results of the function itself."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from minitorch_dist.inventory import no_compiler as compiler
from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", ["compile", "disable", "is_compiling", "reset"])
def test_the_arguments_are_among_those_of_torch(name: str) -> None:
    theirs = inspect.signature(torch.compile if name == "compile" else getattr(torch.compiler, name))
    ours = inspect.signature(getattr(mtd.compiler, name))
    given = [(p.name, p.kind) for p in theirs.parameters.values() if p.name in ours.parameters]
    assert [(p.name, p.kind) for p in ours.parameters.values()] == given
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
        return twice(x), once(x), thrice(x), bool((layer(x) == compiled(x)).all())

    same(program)


def test_it_is_told_once() -> None:
    compiler._tell_once.cache_clear()
    layer = mtd.nn.Linear(3, 2)
    with pytest.warns(UserWarning, match="no compiler: compile\\(\\) returns the function") as told:
        assert mtd.compile(layer, mode="max-autotune") is layer
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mtd.compile(layer, backend="inductor", dynamic=True) is layer
        assert mtd.compile()(layer) is layer
        layer.compile()
        mtd.compiler.reset()


def test_what_it_cannot_do_is_refused() -> None:
    same(lambda t: t.compile(abs, mode="default", options={"shape_padding": True}))
    with pytest.raises(NotImplementedError, match="Leave backend out"):
        mtd.compile(abs, backend=lambda graph, inputs: graph)
