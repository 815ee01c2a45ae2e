"""Activations and their gradients between stages, on any ranks.

A receiver has to know shapes before. They follow from the shapes that the first stage is given. So at the
beginning of a step its *signature* goes down the ranks, one number. Descriptions go along with the
activations only when the signature is new. A smaller last batch is an ordinary case.

    tags    one for each (stage, micro-batch, direction, which tensor): any order may be received
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.pipelining.stage import PipelineStage
from minitorch_dist.distributed.torch_api import messages
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.tensor import Tensor

LONGEST: Final = 128  # numbers in a description: up to 8 tensors of any usual rank
MOST: Final = 8  # tensors between two stages
FORWARD, BACKWARD, SHAPES = range(3)

KINDS: Final = sorted((d for d in vars(dtypes).values() if isinstance(d, dtypes.dtype)), key=lambda d: str(d))


class Meta(NamedTuple):
    """The type and shape of a tensor."""

    shape: tuple[int, ...]
    dtype: dtypes.dtype
    requires_grad: bool


Shapes = list[Meta]


class PipelineMessages:
    """The messages of this rank's stages in one step after another."""

    def __init__(self, stages: Sequence[PipelineStage], microbatches: int) -> None:
        self.group, self.device = stages[0].group, stages[0].device
        self.rank, self.size = self.group.rank(), self.group.size()
        self.microbatches = microbatches
        self._ranks = stages[0].stage_index_to_group_rank
        self._signatures: list[Any] = []  # as the first stage has met them
        self._known: dict[tuple[int, int, int], Shapes] = {}  # signature, stage, micro-batch
        self._now, self._is_new = 0, True
        self._sent: list[tuple[Work, Any]] = []
        self._waiting: dict[tuple[int, int, int], list[tuple[Work | None, Tensor | None]]] = {}
        self._local: dict[tuple[int, int, int], Sequence[Tensor | None]] = {}
        self._expected: dict[tuple[int, int], Shapes] = {}  # gradients that come back

    # ------------------------------------------------------------------------------------ signatures

    def begin(self, signature: Any) -> None:
        """Learn from the rank before whether this step's shapes are known, and pass it on."""
        self._waiting.clear()
        self._local.clear()
        self._expected.clear()
        if self.rank == 0:
            if signature in self._signatures:
                number = self._signatures.index(signature) + 1
            else:
                self._signatures.append(signature)
                number = -len(self._signatures)
        else:
            word = base.new(Tensor, np.zeros(1, np.int64))
            messages.recv(word, group=self.group, group_src=self.rank - 1, tag=self._tag(0, 0, SHAPES, 1))
            number = int(word.array[0])
        if self.rank + 1 < self.size:
            self._send(np.array([number]), self.rank + 1, self._tag(0, 0, SHAPES, 1))
        self._now, self._is_new = abs(number), number < 0

    # ---------------------------------------------------------------------------------------- sending

    def send(self, stage: int, chunk: int, tensors: Sequence[Tensor | None], way: int) -> None:
        """Pass on what `stage` has computed: outputs to the next stage, gradients to the one before."""
        target = stage + (1 if way == FORWARD else -1)
        if way == FORWARD:
            whole = [t for t in tensors if t is not None]
            if len(whole) > MOST:
                raise ValueError(f"stage {stage} returns {len(whole)} tensors, at most {MOST} can go on")
            self._expected[stage, chunk] = [Meta(tuple(t.shape), t.dtype, t.requires_grad) for t in whole]
        rank = self._ranks[target]
        if rank == self.rank:
            self._local[target, chunk, way] = [t if t is None else t.detach() for t in tensors]
            return
        if way == FORWARD and self._is_new:
            text = _encode(self._expected[stage, chunk])
            self._send(text, rank, self._tag(target, chunk, SHAPES, 0))
        for number, tensor in enumerate(tensors):
            if tensor is not None:
                self._send(tensor.array, rank, self._tag(target, chunk, way, number))

    def _send(self, array: base.Array, rank: int, tag: int) -> None:
        tensor = base.new(Tensor, array if array.flags.c_contiguous else array.copy(order="C"))
        work = messages.isend(tensor, group=self.group, group_dst=rank, tag=tag)
        assert work is not None
        self._sent = [(w, t) for w, t in self._sent if not w.is_completed()]
        self._sent.append((work, tensor))

    def end(self) -> None:
        """Return when everything has left."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()

    # -------------------------------------------------------------------------------------- receiving

    def expect(self, stage: int, chunk: int, way: int) -> None:
        """Let what `stage` will need arrive while something else is computed."""
        key, source = (stage, chunk, way), self._source(stage, way)
        if key in self._waiting or source == self.rank:
            return
        metas = self._metas(stage, chunk, way)
        if metas is None:
            return  # its description comes first, when it is needed
        self._waiting[key] = [
            self._receive(meta, source, self._tag(stage, chunk, way, number))
            if way == FORWARD or meta.requires_grad
            else (None, None)
            for number, meta in enumerate(metas)
        ]

    def _source(self, stage: int, way: int) -> int:
        return self._ranks[stage + (-1 if way == FORWARD else 1)]

    def _metas(self, stage: int, chunk: int, way: int) -> Shapes | None:
        """The shapes of that. A stage on this rank has left them here, as each stage does for the gradients that it gets back."""
        if way == BACKWARD:
            return self._expected[stage, chunk]
        if self._source(stage, way) == self.rank:
            return self._expected[stage - 1, chunk]
        return self._known.get((self._now, stage, chunk))

    def _receive(self, meta: Meta, source: int, tag: int) -> tuple[Work | None, Tensor]:
        array = np.empty(meta.shape, meta.dtype.numpy, like=mode.template(self.device))
        tensor = base.new(Tensor, array, self.device)
        return messages.irecv(tensor, group=self.group, group_src=source, tag=tag), tensor

    def take(self, stage: int, chunk: int, way: int) -> list[Tensor | None]:
        """The tensors that `stage` needs for this micro-batch: its inputs, or its outputs' gradients."""
        key, source = (stage, chunk, way), self._source(stage, way)
        if source == self.rank:
            found = list(self._local.pop(key))
        else:
            if self._metas(stage, chunk, way) is None:
                text = base.new(Tensor, np.zeros(LONGEST, np.int64))
                tag = self._tag(stage, chunk, SHAPES, 0)
                messages.recv(text, group=self.group, group_src=source, tag=tag)
                self._known[self._now, stage, chunk] = _decode(text.array)
            self.expect(stage, chunk, way)
            found = []
            for work, tensor in self._waiting.pop(key):
                if work is not None:
                    work.wait()
                found.append(tensor)
        if way == FORWARD:
            for tensor, meta in zip(found, self._metas(stage, chunk, way) or (), strict=True):
                if tensor is not None:
                    tensor.requires_grad_(meta.requires_grad)
        return found

    def _tag(self, stage: int, chunk: int, way: int, number: int) -> int:
        return 1 + ((stage * self.microbatches + chunk) * 3 + way) * MOST + number


def _encode(metas: Shapes) -> base.Array:
    numbers = [len(metas)]
    for meta in metas:
        numbers += [KINDS.index(meta.dtype), int(meta.requires_grad), len(meta.shape), *meta.shape]
    if len(numbers) > LONGEST:
        raise ValueError(f"the shapes {[m.shape for m in metas]} cannot be described in {LONGEST} numbers")
    return np.array(numbers + [0] * (LONGEST - len(numbers)))


def _decode(text: base.Array) -> Shapes:
    numbers = iter(int(n) for n in text)
    return [
        Meta(
            dtype=KINDS[next(numbers)],
            requires_grad=bool(next(numbers)),
            shape=tuple(next(numbers) for _ in range(next(numbers))),
        )
        for _ in range(next(numbers))
    ]
