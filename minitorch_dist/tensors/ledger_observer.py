"""Tells the ledger what the core does in the memory of simulated devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.closure_arrays import arrays_kept_by
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import Gradient, Node


class LedgerObserver:
    """See `core.observers.Unwatched` for the events."""

    def stored(self, array: Array, device: devices.device) -> None:
        ledger.track(array, device)

    def kept(self, node: Node, outs: Sequence[TensorBase]) -> None:
        """Enter what a recorded operation made, and what it keeps for its gradients."""
        for out in outs:
            ledger.retag(out.array, node.device, "activation", only="other")
        read = [each[2] for each in node.reads or ()]
        for array in (*read, *arrays_kept_by(node.backward, *(node.vjps or ()))):
            ledger.track(array, node.device, "activation")
            ledger.retag(array, node.device, "activation", only="other")

    def arrived(self, grads: Sequence[Gradient], device: devices.device) -> None:
        ledger.track_all(grads, device, "gradient")

    def collected(self, grad: Array, device: devices.device) -> None:
        ledger.retag(grad, device, "gradient")

    def given_up(self, owner: Array, device: devices.device) -> str:
        return ledger.forget(owner, device)

    def taken_back(self, owner: Array, device: devices.device, noted: Any) -> None:
        ledger.track(owner, device)
        ledger.retag(owner, device, noted)


def attach() -> None:
    """From now on the ledger knows what the core does."""
    observers.memory = LedgerObserver()
