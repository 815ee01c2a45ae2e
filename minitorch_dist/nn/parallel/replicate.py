"""A module on several devices at once: replicas whose parameters are computed from the original's.

Gradients of a replica's parameters travel back through the copy and are added up in the original. A
replica has no parameters of its own (`parameters()` is empty): its weights are no leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parallel import comm
from minitorch_dist.nn.parallel.over_devices import Broadcast
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import grad_modes

Device = int | str | devices.device


def replicate(network: Module, devices: Sequence[Device]) -> list[Any]:
    """One replica for each device. The first shares the original's buffers, so what a forward
    writes into them there is kept."""
    targets = list(devices)
    parameters: list[Any] = list(network.parameters())
    buffers: list[Any] = list(network.buffers())
    copies = _copies(parameters, targets, recorded=True)
    of_buffers = _copies(buffers, targets, recorded=False)
    modules = list(network.modules())
    number_of = {id(module): number for number, module in enumerate(modules)}
    found = []
    for place in range(len(targets)):
        pairs = [*zip(parameters, copies[place], strict=True)]
        pairs += zip(buffers, of_buffers[place], strict=True)
        new_of = {id(old): new for old, new in pairs}
        twins = [module._replicate_for_data_parallel() for module in modules]
        for module, twin in zip(modules, twins, strict=True):
            _equip(module, twin, twins, number_of, new_of)
        found.append(twins[0])
    return found


def _copies(tensors: Sequence[Any], targets: Sequence[Any], recorded: bool) -> list[Sequence[Any]]:
    """A row of copies for each device."""
    if not tensors:
        return [() for _ in targets]
    if recorded and grad_modes.is_grad_enabled():
        flat = Broadcast.apply(targets, *tensors)
        count = len(tensors)
        return [flat[start : start + count] for start in range(0, len(flat), count)]
    with grad_modes.no_grad():
        return list(comm.broadcast_coalesced(tensors, targets))


def _equip(
    module: Module, twin: Module, twins: list[Any], number_of: dict[int, int], new_of: dict[int, Any]
) -> None:
    """Give a replica its own children and tensors."""
    for name, child in module._modules.items():
        if child is not None:
            twin._modules[name] = twins[number_of[id(child)]]
    former = {}
    for name, parameter in module._parameters.items():
        if parameter is not None:
            del twin._parameters[name]
            twin.__dict__[name] = former[name] = new_of[id(parameter)]
    twin.__dict__["_former_parameters"] = former
    for name, buffer in module._buffers.items():
        if buffer is not None:
            twin._buffers[name] = new_of[id(buffer)]
    twin.__dict__["_is_replica"] = True
