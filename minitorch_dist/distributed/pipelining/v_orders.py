"""Two stages on each rank, in a V, and backward in two parts: orders in which nobody waits.

    stages of rank 0 … P-1    0 1 2 3
                              7 6 5 4

The last stage lies on the rank of the first. So rank 0 begins to go backward as soon as anybody does. The
weights' gradients (W), which nobody else needs, fill the times in which a rank would wait. With F, I and W
of equal length each rank is idle for P - 1 of them, however many micro-batches there are (from 2P - 1 on);
in ZB-V that is before its first action and after its last. With 1F1B it is 3 (P - 1), of twice the length,
since each rank has one stage.

    ZB-V, 3 ranks, on its way
    rank 0  0F0 0F1 0F2 0F3 0F4 5F0 5I0 5W0 5F1 …
    rank 1      1F0 1F1 1F2 4F0 1F3 4F1 4I0 4W0 …
    rank 2          2F0 3F0 2F1 3F1 2F2 3F2 3I0 …

ZB-V: Qi et al., Pipeline Parallelism with Controllable Memory, NeurIPS 2024 (arXiv:2405.15362). DualPipeV:
Qi & Wan et al., the "cut in half" of DeepSeek's DualPipe (arXiv:2412.19437); there F of one stage
and B of the other run at once, here one after the other.
"""

from __future__ import annotations

from collections import Counter, deque

from minitorch_dist.distributed.pipelining.orders import Action, ActionKind, B, F, I, Order, Pipe, W


def zero_bubble_v(rank: int, pipe: Pipe) -> Order:
    """ZB-V. As many micro-batches in memory as 1F1B holds at most, on every rank: 2P of half a model each."""
    enough = max(
        2 * pipe.ranks - 1, pipe.microbatches
    )  # steps that do not exist are left out at the end
    script = _Script(rank, pipe)
    down, up, count = script.down, script.up, script.count
    script.add(down, *[F] * (2 * (pipe.ranks - rank) - 1))
    for _ in range(rank):
        script.add(up, F)
        script.add(down, F)
    for _ in range(pipe.ranks - rank):
        script.add(up, F, I, W)
    while count[up, F] < count[down, F] or count[down, F] < enough:
        if count[down, F] < enough:
            script.add(down, F)
        script.add(down, I, W)
        script.add(up, F, I, W)
    for _ in range(rank):
        script.add(down, I)
        script.add(up, I)
    for _ in range(pipe.ranks - rank):
        script.add(down, I, W)
    for stage in (up, down):
        script.add(stage, *[W] * (count[stage, I] - count[stage, W]))
    return [action for action in script.order if action.microbatch < pipe.microbatches]


def dual_pipe_v(rank: int, pipe: Pipe) -> Order:
    """DualPipeV: forward down and backward up in turns; whole backwards, but where somebody would wait."""
    if pipe.microbatches < pipe.stages:
        raise ValueError(
            "DualPipeV requires at least as many microbatches as stages, but got "
            f"{pipe.microbatches} microbatches and {pipe.stages} stages."
        )
    script = _Script(rank, pipe)
    down, up, behind = script.down, script.up, pipe.ranks - 1 - rank
    script.add(down, *[F] * (2 * behind))
    for _ in range(rank + 1):
        script.add(down, F)
        script.add(up, F)
    for _ in range(behind):
        script.backward(up, I)
        script.late()
        script.add(up, F)
    for _ in range(pipe.microbatches - 2 * pipe.ranks + rank + 1):
        script.add(down, F)
        script.backward(up, B)
        script.add(up, F)
        script.backward(down, B)
    for _ in range(behind):
        script.backward(up, B)
        script.add(up, F)
        script.backward(down, B)
    kinds = [B] * (rank + 1) + [I] * (
        rank + 1
    )  # the second half in parts: from here on one would wait
    for turn in range(rank + 1):
        script.backward(up, kinds[2 * turn])
        script.backward(down, kinds[2 * turn + 1])
    for _ in range(behind):
        script.late()
        script.backward(down, kinds[-1])
    for _ in range(rank + 1):
        script.late()
    return script.order


class _Script:
    """An order that is being written: every kind of action takes the micro-batches of a stage in turn."""

    def __init__(self, rank: int, pipe: Pipe) -> None:
        self.down, self.up = rank, pipe.stages - 1 - rank  # the rank's two stages
        self.order: Order = []
        self.count: Counter[tuple[int, ActionKind]] = Counter()
        self._weights: deque[Action] = deque()  # what can be filled in where one would wait

    def add(self, stage: int, *kinds: ActionKind) -> None:
        for kind in kinds:
            self.order.append(Action(stage, kind, self.count[stage, kind]))
            self.count[stage, kind] += 1

    def backward(self, stage: int, kind: ActionKind) -> None:
        """Whole (B), or only what the stage before waits for (I)."""
        number = self.count[stage, B]
        self.count[stage, B] += 1
        self.order.append(Action(stage, kind, number))
        if kind is I:
            self._weights.append(Action(stage, W, number))

    def late(self) -> None:
        """A weights' gradient that was left behind, the oldest one."""
        if self._weights:
            self.order.append(self._weights.popleft())
