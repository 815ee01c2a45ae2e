"""What is multiplied is counted: forwards, backwards, again where a checkpoint computes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors import flops
from minitorch_dist.utils.checkpoint import checkpoint
from minitorch_dist.utils.flop_counter import FlopCounterMode


def counted(function: Callable[[], Any]) -> FlopCounterMode:
    with FlopCounterMode(display=False) as counter:
        function()
    return counter


def total(function: Callable[[], Any]) -> int:
    return counted(function).get_total_flops()


@pytest.mark.parametrize(
    ("left", "right", "inside"),
    [
        ((3, 4), (4, 5), 3 * 4 * 5),
        ((2, 3, 4), (2, 4, 5), 2 * 3 * 4 * 5),
        ((2, 1, 3, 4), (6, 4, 5), 2 * 6 * 3 * 4 * 5),  # batches that broadcast
        ((2, 3, 4), (4, 5), 2 * 3 * 4 * 5),
        ((3, 4), (4,), 3 * 4),
        ((4,), (4,), 4),
        ((0, 4), (4, 5), 0),
        ((3, 0), (0, 5), 0),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_products(left: Any, right: Any, inside: int, dtype: Any) -> None:
    x, y = torch.ones(left, dtype=dtype), torch.ones(right, dtype=dtype)
    assert total(lambda: x @ y) == 2 * inside
    with torch.no_grad():
        assert total(lambda: x @ y) == 2 * inside


def test_a_gradient_that_nobody_wants_is_not_computed() -> None:
    x, w = torch.ones(3, 4), torch.ones(5, 4, requires_grad=True)
    assert total(lambda: F.linear(x, w).sum().backward()) == 2 * (2 * 60)
    x.requires_grad_()
    assert total(lambda: F.linear(x, w).sum().backward()) == 3 * (2 * 60)
    assert total(lambda: F.linear(x.t().t()[:, None], w).sum().backward()) == 3 * (2 * 60)


def test_backward_of_what_was_recorded_outside() -> None:
    x = torch.ones(3, 4, requires_grad=True)
    for layer in (nn.Linear(4, 5), nn.Linear(4, 5, bias=False)):
        loss = layer(x).sum()
        assert total(loss.backward) == 2 * (2 * 60)
    images = torch.ones(1, 2, 4, 4, requires_grad=True)
    loss = nn.Conv2d(2, 2, 3)(images).sum()
    assert total(loss.backward) == 2 * (2 * 4 * 36)


def test_gradients_of_chosen_inputs() -> None:
    x, layer = torch.ones(3, 4, requires_grad=True), nn.Linear(4, 5)
    loss = layer(x).sum()
    counter = counted(lambda: torch.autograd.grad(loss, x))  # torch raises here
    assert set(counter.get_flop_counts()) == {"Global"}
    assert counter.get_total_flops() >= 2 * 60


def test_a_checkpoint_computes_again() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    x = torch.ones(5, 2, 8, requires_grad=True)
    forward = total(lambda: layer(x))
    assert total(lambda: layer(x).sum().backward()) == 3 * forward
    for reentrant in (False, True):
        assert total(lambda: checkpoint(layer, x, use_reentrant=reentrant).sum().backward()) == 4 * forward  # noqa: B023


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_grouped_convolution(groups: int) -> None:
    layer = nn.Conv2d(4, 8, 3, groups=groups)
    x = torch.ones(2, 4, 5, 5, requires_grad=True)
    once = 2 * 2 * 8 * 9 * (4 // groups) * 9
    assert total(lambda: layer(x)) == once
    assert total(lambda: layer(x).sum().backward()) == 3 * once


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers(kind: Any) -> None:
    layer, gates = kind(3, 4), {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}[kind]
    x = torch.ones(5, 2, 3)
    once = 2 * 5 * 2 * gates * 4 * (3 + 4)
    assert total(lambda: layer(x)) == once
    assert total(lambda: layer(x)[0].sum().backward()) == 3 * once


def test_counters_nest_begin_anew_and_end_with_errors() -> None:
    x = torch.ones(2, 2)
    with FlopCounterMode(display=False) as outer:
        x @ x
        assert total(lambda: x @ x) == 16
        with pytest.raises(RuntimeError, match="entered already"):
            outer.__enter__()
    assert outer.get_total_flops() == 32
    with outer:
        x @ x
    assert outer.get_total_flops() == 16
    with pytest.raises(ZeroDivisionError), FlopCounterMode(display=False):
        1 / 0  # noqa: B018
    assert not flops.counters.on


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_rank_counts_its_own(size: int) -> None:
    def rank() -> dict[str, dict[str, int]]:
        rows = 1 + dist.get_rank()
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2, bias=False))
        return counted(lambda: model(torch.ones(rows, 2)).sum().backward()).get_flop_counts()

    for number, counts in enumerate(sim.run(rank, size).results):
        assert sum(counts["Global"].values()) == 16 * (1 + number)


def test_the_table_has_a_line_for_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode() as counter:
        torch.ones(3).exp()
    assert counter.get_total_flops() == 0 and counter.get_flop_counts() == {}
    assert capsys.readouterr().out.split() == ["FLOP", "0"]
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 7))
    counter = counted(lambda: model(torch.ones(4, 3)).sum().backward())
    assert counter.get_flop_counts() == {"Global": {"aten.addmm": 400, "aten.mm": 680}}
    assert [line.split()[1] for line in counter.get_table().splitlines()] == ["1,080", "400", "680"]


def test_checkpoints_inside_checkpoints() -> None:
    layer, x = nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True)

    def twice() -> Any:
        def inner(x: Any) -> Any:
            return layer(torch.sin(x))

        def outer(x: Any) -> Any:
            return checkpoint(inner, inner(x), use_reentrant=False)

        return checkpoint(outer, x, use_reentrant=False).sum()

    twice().backward()
    gradient, x.grad = x.grad, None
    once = 2 * 2 * 3 * 3
    again = 2 + 1  # both calls in the outer one, and the second in the inner one
    assert total(lambda: twice().backward()) == (2 + again + 2 * 2) * once
    assert torch.equal(gradient, x.grad)
