"""A message to a worker while it is written, and how devices are called at the other end."""

from __future__ import annotations

from collections.abc import Callable

from minitorch_dist.distributed.codec import Writer
from minitorch_dist.distributed.rpc.workers import WorkerInfo
from minitorch_dist.tensors.devices import device

Map = dict[str, str]  # of devices: what is called so here is called so there


class RpcWriter(Writer):
    """A message to a worker. What is written may have to be told when the message is complete (and
    not before: a writer may go back): `notes` holds something for some of the values in `kept`."""

    __slots__ = ("notes", "to")

    def __init__(self, to: int, device_name: Callable[[device], str]) -> None:
        super().__init__(device_name)
        self.to = to
        self.notes: dict[int, tuple[int, Callable[[], None]]] = {}

    def note(self, act: Callable[[], None]) -> None:
        """Call `act` when the message goes out with the value that was remembered last."""
        self.notes[len(self.kept) - 1] = id(self.kept[-1]), act

    def depart(self) -> None:
        for place, (identity, act) in self.notes.items():
            if place < len(self.kept) and id(self.kept[place]) == identity:
                act()


class DeviceNames:
    """How this worker's devices are called at each other one, by `set_device_map`.

    A call goes by the caller's map. The answer goes back by the same map, read the other way round.
    """

    def __init__(self, me: WorkerInfo, ours: dict[str, Map]) -> None:
        self.me, self.ours = me, ours
        self._calls: dict[int, Map] = {}
        self._answers: dict[int, Map] = {}
        self.note(me, ours)

    def note(self, worker: WorkerInfo, theirs: dict[str, Map]) -> None:
        """A worker, with the maps that it was given."""
        self._calls[worker.id] = self.ours.get(worker.name, {})
        back = theirs.get(self.me.name, {})
        self._answers[worker.id] = {here: there for there, here in back.items()}

    def at(self, to: WorkerInfo, is_answer: bool = False) -> Callable[[device], str]:
        """What the devices are called at `to`; RuntimeError, in torch's words, if nothing was said."""
        known = (self._answers if is_answer else self._calls).get(to.id, {})

        def name(of: device) -> str:
            there = known.get(str(of))
            if there is None:
                if to.id == self.me.id:
                    return str(of)
                raise RuntimeError(
                    f"a tensor on {of} was to be sent to {to.name!r}: RPC only supports CPU tensors by "
                    "default, please move your tensors to CPU before sending them over RPC, or call "
                    "`set_device_map` on `TensorPipeRpcBackendOptions` to explicitly configure device "
                    f"mapping. Request device mapping is not available for destination: {to.name}"
                )
            return there

        return name

    def __repr__(self) -> str:
        return f"<DeviceNames of {self.me.name!r}: {self.ours or 'none are mapped'}>"
