"""`autograd.graph` in torch and here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.test_backward import agree, leaf, plain

pytestmark = pytest.mark.parity


def graph_of(t: Any) -> Any:
    x = leaf(t, 3)
    y = (x * x).sum()
    node = y.grad_fn
    return (
        node.name(),
        type(node).__name__,
        [(n.name(), nr) for n, nr in node.next_functions],
        node.next_functions[0][0].next_functions[0][0].variable is x,
        isinstance(node, t.autograd.graph.Node),
    )


def queued(t: Any) -> Any:
    x = leaf(t, 2)
    seen: list[str] = []
    queue = t.autograd.Variable._execution_engine.queue_callback

    def hook(grad: Any) -> None:
        seen.append("hook")
        queue(lambda: (seen.append("done"), queue(lambda: seen.append("later"))))

    x.register_hook(hook)
    (x * 2).sum().backward()
    return seen, isinstance(x, t.autograd.Variable), plain(t.autograd.Variable(x * 2))


PROGRAMS = [graph_of, queued, lambda t: t.autograd.Variable._execution_engine.queue_callback(lambda: None)]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_same(number: int) -> None:
    agree(PROGRAMS[number])
