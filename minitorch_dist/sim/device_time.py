"""Lets each operation on tensors take the time that the rank's device needs (`sim.run(…, device=…)`).

    an operation multiplies ──► `multiplied`     its products are kept
    it is recorded          ──► `operated`       bytes read and written; products; so the rank is busy for a while
    a node's gradients      ──► `around`         the same, backwards
    an optimizer's step     ──► `stepped`        one launch for each group of parameters
    bytes go to the host    ──► `copied`         beside what is computed (see `host_copies`)

This stands outside of the tensors: it attaches to what they tell to observers (`tensors.core.observers`,
`tensors.flops`), and only while a run has devices. A rank has one compute stream, in program order, so helper
threads of a rank wait for each other. Its collectives move meanwhile if they are asynchronous.

An array that looks at the memory of another one that was read is a view, and costs nothing. Operations that
take a few rows out of many (`GATHERS`) read as many bytes as they write.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.world import World
from minitorch_dist.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from minitorch_dist.sim.device import Device, Product, gpu
from minitorch_dist.sim.host_copies import HostCopies
from minitorch_dist.sim.module_names import ModuleNames, Names
from minitorch_dist.sim.power import slowed
from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.core import grad_mode, observers
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.devices import CPU
from minitorch_dist.tensors.flops import AttentionSizes, Sizes
from minitorch_dist.tensors.storages import root
from transports.clock import PICO
from transports.virtual.clock import VirtualClock
from transports.virtual.sim_thread import SimThread

IN_PLACE: Final = ("AccumulateGrad", "InPlace")  # operations that write to what they read
FEWEST: Final = 256  # spans that are joined with others at once
GATHERS: Final = frozenset(
    ("EmbeddingBackward0", "GatherBackward0", "IndexBackward0", "IndexSelectBackward0", "TakeBackward0")
)
_SUFFIX: Final = re.compile(r"Backward\d+")  # of the names of nodes
Rows = NDArray[np.int64]
Devices = Device | str | Sequence[Device] | Callable[[int], Device]


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """The use that a rank made of its time. Spans in picoseconds; `compute`, `communication` and `waiting` add up to
    the rank's time."""

    device: Device
    compute: int  # its compute stream was busy
    communication: int  # its messages moved, and it did not compute: nothing hid them
    waiting: int  # neither
    hidden: int  # its messages moved while it computed
    flops: int  # of products, without those that checkpointing computed again
    again: int  # FLOP that checkpointing computed again
    mfu: float  # the share of the device's peak that `flops` are
    operations: dict[str, tuple[int, int]]  # by name: how many, and the time of all
    modules: dict[str, int]  # by name: the time of its operations, forwards and backwards


class Spans:
    """A set of instants: spans in their order that do not touch, each a row of begin and end."""

    def __init__(self) -> None:
        self._spans = np.empty((0, 2), np.int64)
        self._added = array("q")  # since they were last joined: begin, end, begin, …

    def add(self, start: int, end: int) -> None:
        if start < end:
            self._added.extend((start, end))
            self._join_many()

    def add_all(self, spans: Rows) -> None:
        self._added.frombytes(spans.tobytes())
        self._join_many()

    def _join_many(self) -> None:
        if len(self._added) >= 2 * max(FEWEST, len(self._spans)):
            self._join()

    @property
    def spans(self) -> Rows:
        if self._added:
            self._join()
        return self._spans

    def _join(self) -> None:
        """Let spans that touch become one."""
        found = np.concatenate([self._spans, np.array(self._added).reshape(-1, 2)])
        found = found[np.argsort(found[:, 0], kind="stable")]
        latest = np.maximum.accumulate(found[:, 1])  # the end of those before
        begins = np.flatnonzero(np.r_[True, found[1:, 0] > latest[:-1]])
        ends = np.r_[begins[1:], len(found)] - 1
        self._spans, self._added = np.stack([found[begins, 0], latest[ends]], 1), array("q")

    def until(self, end: int) -> int:
        """How long it is before `end`."""
        return int((np.minimum(self.spans, end) @ (-1, 1)).sum())

    def common(self, other: Spans, end: int) -> int:
        """How much both have in common before `end`: as much as is counted twice."""
        both = Spans()
        both.add_all(np.concatenate([self.spans, other.spans]))
        return self.until(end) + other.until(end) - both.until(end)

    def __repr__(self) -> str:
        some = [tuple(span) for span in self.spans[:4].tolist()]
        return f"<Spans: {some}{' …' if len(self.spans) > 4 else ''}>"


class ComputeStream:
    """Of one rank: its operations, one after the other."""

    def __init__(self, device: Device, rank: int, clock: VirtualClock) -> None:
        self.device, self.rank, self.clock = device, rank, clock
        self.free = 0  # the instant at which it has nothing left to do
        self.busy, self.moving = Spans(), Spans()
        self.flops: dict[str, int] = {}  # by dtype
        self.again = 0
        self.copies = HostCopies(clock)
        self.operations: dict[str, tuple[int, int]] = {}
        self.modules: dict[str, int] = {}

    def compute(self, name: str, picos: int, modules: Names = ()) -> None:
        """Be busy with it, after what was begun before. `modules`: those that it belongs to."""
        if picos <= 0:
            return
        here = world.place().world
        recorder = None if here is None else here.mailbox.recorder
        if self._is_slowed_by_messages(here):
            picos = round(picos * self.device.contention)
        picos = slowed(self.clock, picos)
        self.free = start = max(self.clock.now(), self.free)
        self._count(name, picos, modules)
        self.busy.add(start, self.free)
        self.clock.pause(self.free - self.clock.now())
        if recorder is not None:
            recorder.computed(start, callsite(), name, modules[-1] if modules else "")

    def update_on_host(self, nbytes: int) -> None:
        """The host's processors read and write so many bytes; the device has nothing to do meanwhile."""
        self.clock.pause(slowed(self.clock, self.host_time(nbytes)))

    def host_time(self, nbytes: int) -> int:
        return round(nbytes * PICO / float(self.device.host_memory))

    def _is_slowed_by_messages(self, here: World | None) -> bool:
        """Whether a collective of this rank is under way, on a device that computes more slowly then."""
        if self.device.contention == 1 or here is None:
            return False
        return any(channel.is_busy for channel in here.channels)

    def _count(self, name: str, picos: int, modules: Names) -> None:
        self.free += picos
        count, total = self.operations.get(name, (0, 0))
        self.operations[name] = count + 1, total + picos
        for module in modules:
            self.modules[module] = self.modules.get(module, 0) + picos

    def use(self, end: int) -> DeviceUse:
        compute, moving = self.busy.until(end), self.moving.until(end)
        hidden = self.busy.common(self.moving, end)
        ideal = sum(count / self.device.peak_of(dtype) for dtype, count in self.flops.items())
        return DeviceUse(
            self.device,
            compute,
            moving - hidden,
            end - compute - moving + hidden,
            hidden,
            sum(self.flops.values()),
            self.again,
            ideal * PICO / end if end else 0.0,
            self.operations,
            self.modules,
        )

    def __repr__(self) -> str:
        return f"<ComputeStream of rank {self.rank}, {self.device.name}, {len(self.operations)} kinds of operations>"


class DeviceTime:
    """The devices of one run. `attached` is the run."""

    def __init__(self, clock: VirtualClock, devices: Devices, ranks: int) -> None:
        self.clock = clock
        self.streams = [ComputeStream(each, rank, clock) for rank, each in enumerate(spread(devices, ranks))]
        self._products: dict[SimThread, list[Product]] = {}  # that no operation has been told for yet
        self._told: dict[SimThread, int] = {}  # operations of each thread
        self._before: dict[SimThread, int] = {}  # operations told before the optimizer's step
        self._within: dict[SimThread, int] = {}  # how many nodes' gradients each thread is in
        self.names = ModuleNames(lambda: self.clock.me() if self.stream() is not None else None)
        clock.devices = self

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Operations take time inside."""
        listeners: list[tuple[Callable[[Any, bool], None], Any]] = [
            (partial(observers.watch, "operations"), self.operated),
            (partial(observers.watch, "around"), self.around),
            (flops.counters.listen_everywhere, self.multiplied),
            (observers.copies.listen_everywhere, self.copied),
        ]
        with ExitStack() as stack:
            for listen, act in listeners:
                listen(act, True)
                stack.callback(listen, act, False)
            stack.enter_context(self.names.attached())
            stack.callback(register_optimizer_step_pre_hook(self.stepping).remove)
            stack.callback(register_optimizer_step_post_hook(self.stepped).remove)
            yield

    def stream(self) -> ComputeStream | None:
        """The caller's; None for a thread that is no rank of this run."""
        if world.place().clock is not self.clock or self.clock.current() is None:
            return None
        return self.streams[self.clock.me().rank]

    def carried(self, rank: int, start: int, end: int) -> None:
        """A message of this rank was on its way, from it or to it."""
        self.streams[rank].moving.add(start, end)

    # ---------------------------------------------------------------------- what the tensors tell

    def multiplied(self, name: str, operations: int, sizes: Sizes | AttentionSizes | None) -> None:
        if self.stream() is not None:
            self._products.setdefault(self.clock.me(), []).append(Product(operations, sizes, flops.precision.get()))

    def operated(self, name: str, reads: Sequence[Array], writes: Sequence[Array]) -> None:
        stream = self.stream()
        if stream is None or not writes:  # `item` makes no array
            return
        me = self.clock.me()
        # Recording while a gradient is computed: checkpointing computes a forward pass again.
        is_again = bool(self._within.get(me)) and grad_mode.mode.get() == grad_mode.ON
        self._told[me] = self._told.get(me, 0) + (not is_again)
        self._compute(stream, me, name or _maker(), reads, writes, self.names.now(), is_again)

    def around(self, node: Any, execute: observers.Execute) -> observers.Execute:
        stream = self.stream()
        return execute if stream is None else self._timed(stream, node, execute)

    def _timed(self, stream: ComputeStream, node: Any, execute: observers.Execute) -> observers.Execute:
        def run(grads: Sequence[Any]) -> Sequence[Any]:
            me = self.clock.me()
            reads = [*grads, *(read[2] for read in node.reads or ())]
            told = self._told.get(me, 0)
            self._within[me] = self._within.get(me, 0) + 1
            try:
                results = execute(grads)
            finally:
                self._within[me] -= 1
            if self._told.get(me, 0) == told:  # else it was made of operations, which have told of themselves
                self._compute(stream, me, f"{node.name_} (backward)", reads, results, self.names.of(node))
            return results

        return run

    def copied(self, owner: Any, nbytes: int | None, to_host: bool) -> None:
        stream = self.stream()
        if stream is None or stream.device.host is None:
            return
        copies = stream.copies
        copies.is_used, number = True, copies.number(owner)
        if nbytes is None:
            copies.wait(number)
        else:
            copies.begin(number, round(nbytes * PICO / stream.device.host), to_host)

    def stepping(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        stream = self.stream()
        if stream is not None:
            if stream.copies.is_used:
                stream.copies.wait(None)
            me = self.clock.me()
            self._before[me] = self._told.get(me, 0)

    def stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """One launch for each group, unless the step was made of operations, which told of themselves. The host updates
        parameters that are in its memory."""
        stream = self.stream()
        if stream is None:
            return
        me = self.clock.me()
        if self._told.get(me, 0) != self._before.pop(me, 0):
            return
        for group in optimizer.param_groups:
            on_device = on_host = 0
            for p in group["params"]:
                if p._grad is not None:
                    state = optimizer.state.get(p) or {}
                    kept = [each.array for each in state.values() if isinstance(each, TensorBase)]
                    nbytes = p._grad.array.nbytes + 2 * (p.array.nbytes + sum(a.nbytes for a in kept))
                    is_there = stream.copies.is_used and stream.device.host_memory and p.storage.device is CPU
                    on_host, on_device = on_host + nbytes * is_there, on_device + nbytes * (not is_there)
            if on_device:
                stream.compute(f"{type(optimizer).__name__}.step", stream.device.time(on_device))
            if on_host:
                stream.update_on_host(on_host)

    # --------------------------------------------------------------------------------------- costs

    def _compute(
        self,
        stream: ComputeStream,
        me: SimThread,
        name: str,
        reads: Sequence[Any],
        writes: Sequence[Any],
        modules: Names,
        is_again: bool = False,
    ) -> None:
        products = self._products.pop(me, ())
        nbytes = traffic(name.partition(" ")[0], reads, writes)
        if not nbytes and not products:
            return
        dtype = dtype_of(reads, writes) if products else ""
        picos = stream.device.time(nbytes, dtype, products)
        for product in products:
            if is_again:
                stream.again += product.flops
            else:
                done_in = product.dtype or dtype
                stream.flops[done_in] = stream.flops.get(done_in, 0) + product.flops
        stream.compute(_SUFFIX.sub("", name), picos, modules)

    def __repr__(self) -> str:
        return f"<DeviceTime of {len(self.streams)} ranks>"


def _maker() -> str:
    """The function that made a result without a gradient, such as `argmax`."""
    return sys._getframe(4).f_code.co_name  # _maker, operated, observers.operated, result, and that


def traffic(name: str, reads: Sequence[Any], writes: Sequence[Any]) -> int:
    """The bytes that an operation reads and writes; 0 if it makes views only. Some entries may be None."""
    sources = {id(each): each for each in reads if each is not None}
    made = {id(each): each for each in writes if each is not None}
    if name not in IN_PLACE:
        owners = {id(root(each)) for each in sources.values() if isinstance(each, np.ndarray)}
        made = {
            key: each for key, each in made.items() if not (isinstance(each, np.ndarray) and id(root(each)) in owners)
        }
    written = sum(int(each.nbytes) for each in made.values())
    if not written:
        return 0
    read = [int(each.nbytes) for each in sources.values()]
    return written + sum(min(each, written) for each in read) if name in GATHERS else written + sum(read)


def dtype_of(reads: Sequence[Any], writes: Sequence[Any]) -> str:
    """The dtype in which an operation multiplies: that of the first floating array that it reads."""
    for each in (*reads, *writes):
        if each is not None and each.dtype in dtypes.FROM_NUMPY:
            found = dtypes.FROM_NUMPY[each.dtype]
            if found.is_floating_point:
                return found.name
    first = next((each for each in (*reads, *writes) if each is not None), None)
    return "" if first is None else str(first.dtype)


def spread(devices: Devices, ranks: int) -> list[Device]:
    """The device of each rank: the same for all or its name, by a list, or by a function of the rank."""
    if isinstance(devices, str):
        devices = gpu(devices)
    if isinstance(devices, Device):
        return [devices] * ranks
    if not callable(devices) and not isinstance(devices, Sequence):
        raise TypeError(f"{devices!r} is no device; a device is sim.gpu(name) or sim.Device(…)")
    found: list[Any] = [devices(rank) for rank in range(ranks)] if callable(devices) else list(devices)
    if len(found) != ranks:
        raise ValueError(f"{len(found)} devices were given for {ranks} ranks")
    for rank, each in enumerate(found):
        if not isinstance(each, Device):
            raise TypeError(f"the device of rank {rank} is {each!r}; a device is sim.gpu(name) or sim.Device(…)")
    return found


def of(clock: VirtualClock) -> DeviceTime | None:
    """The devices of the run with this clock; None where operations take no time."""
    found = clock.devices
    assert found is None or isinstance(found, DeviceTime)
    return found
