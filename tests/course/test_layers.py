"""A layer that takes its time takes exactly that."""

from __future__ import annotations

from minitorch_dist import nn, sim
from minitorch_dist.tensors.dtypes import float64
from minitorch_dist.tensors.makers.creation import ones
from mtd.course.layers import SquareLayer

MILLISECOND = 10**9


def test_forward_and_backward_take_their_time_and_gradients_come_after_it() -> None:
    arrived: list[float] = []

    def program() -> None:
        model = nn.Sequential(*[SquareLayer(3, "1ms", "2ms") for _ in range(2)])
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda _: arrived.append(sim.now()))
        model(ones(1, 3, dtype=float64)).sum().backward()

    assert sim.run(program, 1).time == 6 * MILLISECOND
    assert arrived == [0.004, 0.006]


def test_its_gradient_is_that_of_the_product() -> None:
    layer = SquareLayer(2)
    layer(ones(1, 2, dtype=float64)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
