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
        assert total(lambda: checkpoint(layer, x, use_reentrant=reentrant).sum().backward()) == 4 * forward  # noqa: B023  # fmt: skip


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


def test_by_module() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Sequential(nn.ReLU(), nn.Linear(5, 7)))
    counter = counted(lambda: model(torch.ones(4, 3)).sum().backward())
    counts = {name: sum(each.values()) for name, each in counter.get_flop_counts().items()}
    assert counts == {
        "Global": 240 + 840, "Sequential": 240 + 840, "Sequential.0": 240, "Sequential.1": 840,
        "Sequential.1.1": 840,
    }  # fmt: skip
    assert counter.get_flop_counts()["Sequential.0"] == {"aten.addmm": 120, "aten.mm": 120}
    lines = counter.get_table(1).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["Sequential", "1080.000", "100.00%"],
        ["-", "aten.addmm", "400.000", "37.04%"],
        ["-", "aten.mm", "680.000", "62.96%"],
    ]
    assert "Sequential.1.1" in counter.get_table(3) and "Sequential.1.1" not in counter.get_table()
    assert repr(counter) == "<FlopCounterMode: 1080 operations, not counting>"


def test_products_outside_of_modules_stand_above_them() -> None:
    layer, x = nn.Linear(4, 4, bias=False), torch.ones(4, 4)
    table = counted(lambda: layer(x @ x)).get_table().splitlines()
    assert table[2].split() == ["Global", "256.000", "100.00%"]
    assert table[4].split() == ["Linear", "128.000", "50.00%"]


def test_nothing_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode() as counter:
        torch.ones(3).exp()
    assert counter.get_total_flops() == 0 and counter.get_flop_counts() == {}
    assert capsys.readouterr().out.splitlines()[-1].split() == ["Global", "0", "0%"]


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

    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    with FlopCounterMode(display=False) as counter:
        with pytest.raises(ValueError, match="broken"):
            Broken()(x)
        nn.Linear(2, 2)(x)
    assert set(counter.get_flop_counts()) == {"Global", "Linear"}


def test_each_rank_counts_its_own_though_they_take_turns_inside_a_module() -> None:
    class Meeting(nn.Linear):
        def forward(self, x: Any) -> Any:
            dist.barrier()
            out = super().forward(x)
            dist.barrier()
            return out

    def rank() -> dict[str, dict[str, int]]:
        rows, kind = 1 + dist.get_rank(), type(f"Meeting{dist.get_rank()}", (Meeting,), {})
        model = nn.parallel.DistributedDataParallel(kind(2, 2, bias=False))

        def step() -> None:
            model.module(torch.ones(rows, 2))
            model(torch.ones(rows, 2)).sum().backward()

        return counted(step).get_flop_counts()

    for number, counts in enumerate(sim.run(rank, 3).results):
        once = 8 * (1 + number)
        assert {name: sum(each.values()) for name, each in counts.items()} == {
            "Global": 3 * once, f"Meeting{number}": 3 * once, "DistributedDataParallel": 2 * once,
        }  # fmt: skip


def test_a_counter_may_begin_or_end_inside_a_module() -> None:
    x, counter = torch.ones(2, 2), FlopCounterMode(display=False)

    class Opens(nn.Module):
        def forward(self, x: Any) -> Any:
            counter.__enter__()
            return x @ x

    class Closes(nn.Module):
        def forward(self, x: Any) -> Any:
            counter.__exit__()
            return x @ x

    opens = Opens()
    opens.register_forward_hook(lambda *_: None)  # so that it looks for hooks after forward
    Closes()(opens(x))
    assert counter.get_flop_counts() == {"Global": {"aten.mm": 16}}
    with counter:
        x @ x
    assert counter.get_flop_counts() == {"Global": {"aten.mm": 16}}


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


def test_arguments() -> None:
    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(nn.Linear(1, 1))
    with pytest.raises(ValueError, match="custom_mapping"):
        FlopCounterMode(custom_mapping={"aten.exp": len})
