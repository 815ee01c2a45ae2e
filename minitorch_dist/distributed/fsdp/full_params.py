"""Whole parameters for a while, for those who look at them or write into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices


@contextmanager
def summoned(
    unit: Unit,
    module: Module,
    writeback: bool,
    rank0_only: bool,
    offload_to_cpu: bool,
) -> Iterator[None]:
    """Gather one unit and put its parameters into the modules' tables, under their own names."""
    if writeback and rank0_only:
        raise NotImplementedError(
            "writeback=True and rank0_only=True is not supported: what rank 0 writes would have to "
            "reach the shards of the others"
        )
    if unit.in_backward or unit.is_summoned:
        raise AssertionError(
            f"summon_full_params inside of {'backward' if unit.in_backward else 'itself'}: {unit!r}"
        )
    unit.reshard()
    own = unit.settings.device
    device = devices.CPU if offload_to_cpu else own
    whole = unit.gathered()
    if unit.layout.ranks == 1 and (device is not own or not writeback):
        whole = whole.copy()
    held = [p._grad for p in unit.originals]
    keep = not (rank0_only and unit.settings.group.rank() != 0)
    unit.is_summoned = True
    if keep:
        unit.show(whole, device)
        for p in unit.originals:
            p._grad = None
        _enter(unit, module)
    try:
        yield
    finally:
        if keep:
            _leave(unit, module)
            for p, kept in zip(unit.originals, held, strict=True):
                p._grad = kept
        if writeback:
            unit.put(whole)
        unit.is_summoned = False
        unit.is_whole = False
        unit.show_shards()


def _enter(unit: Unit, module: Module) -> None:
    if unit.settings.keep_originals:
        return
    module._parameters.pop("_flat_param", None)
    for shared, p in zip(unit.places, unit.originals, strict=True):
        for place in shared:
            place.module.__dict__.pop(place.name, None)
            place.module._parameters[place.name] = p


def _leave(unit: Unit, module: Module) -> None:
    if unit.settings.keep_originals:
        return
    for shared, p in zip(unit.places, unit.originals, strict=True):
        for place in shared:
            place.module._parameters.pop(place.name, None)
            place.module.__dict__[place.name] = p
    module._parameters["_flat_param"] = unit.flat
