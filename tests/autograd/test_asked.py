"""What nobody asks for is not computed: `grad(loss, x)` leaves out the gradients of the weights."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import minitorch_dist as torch
from minitorch_dist.profiler import profile
from minitorch_dist.tensors.core.graph import Node


@pytest.mark.parametrize("observed", [False, True])
def test_only_the_paths_to_what_is_asked_for_are_computed(observed: bool) -> None:
    with profile() if observed else nullcontext():
        compute_towards_some()


def compute_towards_some() -> None:
    x, w = (torch.ones(3, 3, requires_grad=True) for _ in range(2))
    y = x @ w
    node = y.grad_fn
    assert isinstance(node, Node) and node.vjps is not None
    computed: list[int] = []

    def counted(index: int, vjp: object) -> object:
        def call(grad: object) -> object:
            computed.append(index)
            return vjp(grad)  # type: ignore[operator]

        return call

    node.vjps = [counted(index, vjp) for index, vjp in enumerate(node.vjps)]  # type: ignore[misc]
    (found,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert computed == [0] and (found == 3).all()
    y.sum().backward(inputs=[w], retain_graph=True)
    assert computed == [0, 1] and x.grad is None and (w.grad == 3).all()
    y.sum().backward()
    assert computed == [0, 1, 0, 1] and (x.grad == 3).all() and (w.grad == 6).all()
