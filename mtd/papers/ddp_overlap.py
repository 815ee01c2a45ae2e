"""P12: how DDP hides communication behind the backward pass, and which buckets hide most.

    t(k) = max(t(k-1), ready(k)) + T(bytes of bucket k)      when bucket k is back

First our DDP runs in virtual time and is compared with this recurrence, nanosecond by nanosecond. Then
the recurrence, which is now known to be what DDP does, is asked about 256 ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import models, nn
from minitorch_dist.autograd.function import Function
from minitorch_dist.distributed.ddp.buckets import MIB, assign
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.sim import nets, program_calls, topology_links
from minitorch_dist.sim.runner import run
from minitorch_dist.tensors.tensor import Tensor
from mtd import estimates
from mtd.papers.paper import Row
from transports.virtual.topology import Uniform

# ------------------------------------------------------------------------------ DDP as it runs

WIDTHS = (30, 30, 90, 30, 60, 60, 30)  # every bucket can be cut into equal chunks
TAKES = 12_000  # nanoseconds of a layer's backward
START = 0.01  # seconds: all ranks have come by then
SMALL = nets.Hockney("1us", "8Gb/s")  # a byte takes one nanosecond


class TimedBackward(Function):
    """Nothing, for which the backward pass needs a while."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        program_calls.compute(TAKES / 1e9)
        return grads[0]


class Chain(nn.Module):
    """Layers, of which the last has its gradient first."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(m, n, bias=False) for m, n in pairwise(WIDTHS)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = TimedBackward.apply(layer(x))
        return x


class Sent(NamedTuple):
    """A bucket: its bytes, and the nanoseconds since the backward pass began."""

    nbytes: int
    ready: int  # by the layers in it, not by a clock
    back: int  # by the clock


def _train(cap: int) -> list[Sent]:
    model = nn.parallel.DistributedDataParallel(Chain(), bucket_cap_mb=cap / MIB)
    start, back = 0.0, list[float]()

    def noting_when_it_is_back(_: Any, bucket: dist.GradBucket) -> Any:
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        assert work is not None
        future = work.get_future()
        future.add_done_callback(lambda _: back.append(program_calls.now() - start))
        return future

    model.register_comm_hook(None, noting_when_it_is_back)
    for _ in range(2):  # in the second pass the buckets are as they will stay
        start += START
        back.clear()
        program_calls.compute(start - program_calls.now())
        model(torch.ones(1, WIDTHS[0])).sum().backward()
    found = []
    reducer = model.reducer
    for bucket, seconds in zip(reducer.buckets, back, strict=True):
        computed = len(model.module.layers) - min(bucket.numbers)
        found.append(Sent(bucket.nbytes, computed * TAKES, round(seconds * 1e9)))
    return found


def _all_reduce(size: int, nbytes: int) -> int:
    """Nanoseconds, by the schedule that DDP's all_reduce chooses."""
    schedule = choice.choose("all_reduce", size, nbytes, topology_links.links_of(SMALL, 0))
    return estimates.time_of(schedule, size, nbytes, SMALL) // 1000


def _runs() -> list[Row]:
    found = []
    for size in (2, 3, 5):
        for cap in (1, 25_000):
            sent, back = run(_train, size, (cap,), net=SMALL).results[0], 0
            for number, bucket in enumerate(sent):
                back = max(back, bucket.ready) + _all_reduce(size, bucket.nbytes)
                about = f"{size} ranks, bucket {number + 1} of {len(sent)} is back"
                found.append(Row(about, back / 1000, bucket.back / 1000, 0.0, "µs"))
    return found


# ------------------------------------------------------------------------------- which buckets

CAPS = (0, 1, 5, 10, 25, 50, 1000)  # MiB


@lru_cache
def _ring(size: int, nbytes: int, net: Uniform) -> float:
    return estimates.time_of(choice.named("all_reduce", "ring"), size, nbytes, net) / 1e9


def _step(parameters: Sequence[Any], cap: int, size: int, net: Uniform, backward: float) -> tuple[float, float]:
    """Milliseconds of a backward pass with its communication, overlapped and one after the other."""
    order = range(len(parameters) - 1, -1, -1)
    back = alone = 0.0
    for bucket in assign(parameters, [cap * MIB], order):
        ready = backward * (len(parameters) - min(bucket)) / len(parameters)
        taken = _ring(size, 4 * sum(parameters[n].numel() for n in bucket), net)
        back, alone = max(back, ready) + taken, alone + taken
    return back, backward + alone


def _best(parameters: Sequence[Any], size: int, net: Uniform) -> tuple[int, float]:
    """The best cap, and which part of the time the overlap saves with it."""
    steps = {cap: _step(parameters, cap, size, net, 100.0) for cap in CAPS}
    cap = min(CAPS, key=lambda each: steps[each][0])
    overlapped, alone = steps[cap]
    return cap, 1 - overlapped / alone


def _sweep() -> list[Row]:
    parameters = list(models.resnet50().parameters())
    nets_of = ("8us", "32Gb/s"), ("32us", "32Gb/s"), ("8us", "4Gb/s")
    fast, late, slow = (nets.Hockney(*words) for words in nets_of)
    cap, gain = _best(parameters, 256, fast)
    few, _ = _best(parameters, 32, fast)
    later, _ = _best(parameters, 256, late)
    _, slow_gain = _best(parameters, 256, slow)
    return [
        Row("tensors of ResNet-50", 161, len(parameters)),
        Row("best bucket, 256 ranks: neither end", (1, 50), cap, 0.0, "MiB"),
        Row("best bucket, 32 ranks: smaller", (1, cap - 1), few, 0.0, "MiB"),
        Row("best bucket, 4 times the latency: larger", (cap + 1, 1000), later, 0.0, "MiB"),
        Row("overlap saves less on a slow network", (0, gain), slow_gain),
    ]


def rows() -> Sequence[Row]:
    return _runs() + _sweep()
