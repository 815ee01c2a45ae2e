"""A pipeline computes what the whole model computes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.autograd import Function
from minitorch_dist.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    get_schedule_class,
)
from minitorch_dist.distributed.pipelining.orders import ActionKind, Pipe
from minitorch_dist.launching import launch

SINGLE = [ScheduleGPipe, Schedule1F1B]
MULTI = [ScheduleLoopedBFS, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble]


def layers(count: int) -> list[Any]:
    mt.manual_seed(0)
    sizes = [3, *[4 + k % 3 for k in range(count - 1)], 2]
    return [nn.Sequential(nn.Linear(a, b), nn.Tanh()).double() for a, b in pairwise(sizes)]


def batch(rows: int, step: int = 0) -> tuple[Any, Any]:
    draw = np.random.default_rng(step)
    return mt.tensor(draw.standard_normal((rows, 3))), mt.tensor(draw.standard_normal((rows, 2)))


def square(out: Any, target: Any) -> Any:
    return ((out - target) ** 2).sum()


def gradients_of(modules: list[Any]) -> dict[str, Any]:
    return {
        f"{n}.{name}": p.grad.numpy().copy()
        for n, module in enumerate(modules)
        for name, p in module.named_parameters()
    }


def whole(count: int, rows: list[int]) -> tuple[dict[str, Any], list[Any]]:
    """The model in one piece: gradients and outputs over batches of these sizes."""
    modules, outputs = layers(count), []
    for step, size in enumerate(rows):
        x, y = batch(size, step)
        for module in modules:
            x = module(x)
        square(x, y).backward()
        outputs.append(x.detach().numpy())
    return gradients_of(modules), outputs


def staged(
    make: Callable[..., Any], local: int, microbatches: int, rows: list[int]
) -> tuple[dict[str, Any], list[Any]]:
    """One rank's part of the same."""
    rank, size = dist.get_rank(), dist.get_world_size()
    modules = layers(size * local)
    numbers = Pipe(size, microbatches, local).stages_of(rank)
    own = [PipelineStage(modules[s], s, size * local, "cpu") for s in numbers]
    last = size - 1
    schedule = make(own[0] if local == 1 and make in SINGLE else own, microbatches, loss_fn=square, scale_grads=False)
    outputs = []
    for step, count in enumerate(rows):
        x, y = batch(count, step)
        losses: list[Any] = []
        args = (x,) if rank == 0 else ()
        out = schedule.step(*args, target=y if rank == last else None, losses=losses)
        assert (out is not None) == (rank == last)
        if out is not None:
            outputs.append(out.detach().numpy())
            assert len(losses) == microbatches
            np.testing.assert_allclose(sum(loss.item() for loss in losses), square(out, y).item())
        assert all(stage.in_flight == 0 for stage in own)
    return {
        name: value
        for stage in own
        for name, value in {
            f"{stage.stage_index}.{n}": p.grad.numpy().copy() for n, p in stage.submod.named_parameters()
        }.items()
    }, outputs


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("make", [*SINGLE, *MULTI], ids=lambda c: c.__name__)
def test_every_schedule_is_the_whole_model(size: int, make: Any) -> None:
    local = 1 if make in SINGLE else 2
    rows = [16, 19, 16]  # the second batch has parts of other sizes
    microbatches = size
    expected, outputs = whole(size * local, rows)
    found: dict[str, Any] = {}
    for gradients, outs in launch(staged, size, args=(make, local, microbatches, rows)):
        found.update(gradients)
        for mine, theirs in zip(outs, outputs, strict=False):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-14)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("transport", ["sim://", "sim://?eager=0"])
def test_it_does_not_get_stuck_where_sends_wait_for_receives(transport: str) -> None:
    for make in (*SINGLE, *MULTI):
        local = 1 if make in SINGLE else 2
        launch(staged, 3, transport, args=(make, local, 6, [12, 13]))


@pytest.mark.parametrize(("ranks", "microbatches"), [(2, 4), (3, 6), (4, 4)])
@pytest.mark.parametrize("make", [*SINGLE, *MULTI], ids=lambda c: c.__name__)
def test_virtual_time_is_the_plan(make: Any, ranks: int, microbatches: int) -> None:
    """Forward takes 1 ms, each half of backward 1 ms, messages nothing: the bubbles of the papers."""

    class Busy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, duration: str) -> Any:
            sim.compute(duration)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            sim.compute("1ms")
            return grad, None

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mt.ones(1))

        def forward(self, x: Any) -> Any:
            if not x.requires_grad:  # the first stage spends as long as the others
                x = x.clone().requires_grad_()
            return Busy.apply(x, "1ms") * Busy.apply(self.w, "0ms")

    local = 1 if make in SINGLE else 2

    def rank() -> tuple[int, int]:
        me, stages = dist.get_rank(), ranks * local
        numbers = Pipe(ranks, microbatches, local).stages_of(me)
        own = [PipelineStage(Layer(), s, stages, "cpu") for s in numbers]
        schedule = make(own[0] if make in SINGLE else own, microbatches, loss_fn=lambda o, t: o.sum())
        schedule.step(*((mt.ones(microbatches, 1),) if me == 0 else ()), target=mt.ones(microbatches))
        return schedule.spans[-1].end, schedule.planned.total

    report = sim.run(rank, ranks, net=sim.uniform("0s", "1TB/s"))
    ends, plans = zip(*report.results, strict=True)
    assert max(ends) // 10**9 == plans[0]  # in ms; the messages' bytes take picoseconds


def test_several_tensors_integers_and_frozen_ones_between_stages() -> None:
    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mt.full((3,), 2.0))

        def forward(self, x: Any, scale: Any) -> Any:
            return x * self.w, (x > 0).long(), x.detach() * scale

    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mt.full((3,), 3.0))

        def forward(self, x: Any, mask: Any, plain: Any) -> Any:
            assert not plain.requires_grad
            return (x * mask * self.w + plain).sum(1)

    def rank() -> Any:
        me = dist.get_rank()
        stage = PipelineStage([First, Second][me](), me, 2, "cpu")
        schedule = Schedule1F1B(stage, 2, loss_fn=lambda out, target: (out * target).sum(), scale_grads=False)
        x = mt.tensor([[1.0, -2.0, 3.0]] * 4)
        schedule.step(*((x,) if me == 0 else ()), target=mt.ones(4), **({"scale": mt.ones(4, 1)} if me == 0 else {}))
        return stage.submod.w.grad.tolist()

    assert launch(rank, 2) == [[12.0, 0.0, 36.0], [8.0, 0.0, 24.0]]


def test_gradients_are_means_unless_asked_otherwise() -> None:
    def rank(scaled: bool) -> Any:
        me = dist.get_rank()
        stage = PipelineStage(layers(2)[me], me, 2, "cpu")
        schedule = ScheduleGPipe(stage, 4, loss_fn=square, scale_grads=scaled)
        x, y = batch(8)
        schedule.step(*((x,) if me == 0 else ()), target=y)
        return next(iter(stage.submod.parameters())).grad.numpy()

    for mean, total in zip(launch(rank, 2, args=(True,)), launch(rank, 2, args=(False,)), strict=True):
        np.testing.assert_allclose(mean * 4, total, rtol=1e-12)


def test_eval_is_forward_only() -> None:
    def rank() -> Any:
        me = dist.get_rank()
        stage = PipelineStage(layers(3)[me], me, 3, "cpu")
        schedule = Schedule1F1B(stage, 3, loss_fn=square)
        x, y = batch(7)
        losses: list[Any] = []
        with mt.no_grad():
            with pytest.raises(RuntimeError, match=r"Please call eval\(\) instead"):
                schedule.step(x, target=y)
            out = schedule.eval(*((x,) if me == 0 else ()), target=y, losses=losses)
        assert all(p.grad is None for p in stage.submod.parameters())
        assert {span.action.kind for span in schedule.spans} == {ActionKind.FORWARD}
        return None if out is None else (out.numpy(), len(losses))

    out, count = launch(rank, 3)[2]
    assert count == 3
    np.testing.assert_allclose(out, whole(3, [7])[1][0], atol=1e-14)


def test_replicas_of_a_pipeline_reduce_with_the_last_micro_batch() -> None:
    """A submodule with `no_sync` (DDP, FSDP) is quiet for all but the last backward."""
    told: list[tuple[int, str]] = []

    class Replica(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner, self.quiet = inner, False

        def no_sync(self) -> Any:
            from contextlib import contextmanager

            @contextmanager
            def silent() -> Any:
                self.quiet = True
                yield
                self.quiet = False

            return silent()

        def forward(self, x: Any) -> Any:
            told.append((dist.get_rank(), "quiet" if self.quiet else "loud"))
            return self.inner(x)

    def rank() -> None:
        me = dist.get_rank()
        stage = PipelineStage(Replica(layers(2)[me]), me, 2, "cpu")
        x, y = batch(6)
        Schedule1F1B(stage, 3, loss_fn=square).step(*((x,) if me == 0 else ()), target=y)

    launch(rank, 2)
    for me in range(2):
        assert [word for who, word in told if who == me] == ["quiet", "quiet", "loud"]


def test_what_cannot_be_is_told_at_once() -> None:
    def rank() -> None:
        me = dist.get_rank()
        net = layers(2)[me]
        with pytest.raises(ValueError, match="out of range of 2 stages"):
            PipelineStage(net, 2, 2, "cpu")
        with pytest.raises(ValueError, match="some ranks would have nothing to do"):
            PipelineStage(net, 0, 1, "cpu")
        with pytest.raises(ValueError, match=rf"given the stages \[{1 - me}\] of 2, and should have \[{me}\]"):
            ScheduleGPipe(PipelineStage(net, 1 - me, 2, "cpu"), 2)
        stage = PipelineStage(net, me, 2, "cpu")
        with pytest.raises(ValueError, match="one stage on each rank, but there are 4"):
            ScheduleGPipe(PipelineStage(net, me, 4, "cpu"), 2)
        with pytest.raises(ValueError, match="at least 1"):
            ScheduleGPipe(stage, 0)
        with pytest.raises(ValueError, match="multiple of the number of rounds"):
            ScheduleInterleaved1F1B([PipelineStage(net, me + 2 * k, 4, "cpu") for k in range(2)], 5)
        schedule = ScheduleGPipe(stage, 4, loss_fn=square)
        if me == 0:
            with pytest.raises(ValueError, match="needs the model's inputs"):
                schedule.step()
            with pytest.raises(ValueError, match="a batch of 3 cannot be cut into 4"):
                schedule.step(mt.ones(3, 3))
        else:
            with pytest.raises(ValueError, match="needs target="):
                schedule.step()
        assert "bubble 1/4" in repr(schedule)
        assert f"<PipelineStage {me} of 2" in repr(stage)

    launch(rank, 2)
    with pytest.raises(ValueError, match="Unknown schedule name"):
        get_schedule_class("fastest")
    assert get_schedule_class("1f1b") is Schedule1F1B
