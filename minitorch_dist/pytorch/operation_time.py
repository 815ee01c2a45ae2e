"""Lets each operation of torch take the time that the rank's device needs: what `sim.device_time` does for our tensors.

    aten operation ──► bytes read and written, products ──► Device.time ──► the rank's compute stream

Both use one model of a device, and one stream for each rank. A view costs nothing. Torch's own counter of FLOPs
(`torch.utils.flop_counter`) says which operations multiply, and how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from minitorch_dist.sim.device import Product
from minitorch_dist.sim.device_time import ComputeStream, DeviceTime
from minitorch_dist.tensors.flops import Sizes

aten: Final = torch.ops.aten
# They take a few rows out of many: they read as much as they write.
GATHERS: Final = {aten.embedding, aten.gather, aten.index, aten.index_select}
# Of these products one factor's last dimension is what is added up.
PRODUCTS: Final = {aten.mm: 0, aten.bmm: 0, aten.addmm: 1, aten.baddbmm: 1}


class TimedOperations(TorchDispatchMode):
    """While it is on, operations of this thread keep the rank's device busy."""

    def __init__(self, devices: DeviceTime, rank: int) -> None:
        super().__init__()
        self.devices, self.rank = devices, rank

    @property
    def stream(self) -> ComputeStream:
        """The rank's stream of now: one that is noted has another one each time that it runs."""
        return self.devices.streams[self.rank]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.namespace == "aten":
            self._compute(func, args, kwargs, result)
        return result

    def _compute(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        packet = func._overloadpacket
        reads, writes = list(_tensors((args, kwargs))), list(_tensors(result))
        nbytes = 0 if func.is_view else _traffic(packet, func._schema.is_mutable, reads, writes)
        count = flop_registry.get(packet)
        if not nbytes and count is None:
            return
        products, dtype = [], ""
        if count is not None:
            flops = count(*args, **kwargs, out_val=result)
            products, dtype = [Product(flops, _sizes(packet, args))], _dtype_of(reads)
            self.stream.flops[dtype] = self.stream.flops.get(dtype, 0) + flops
        picos = self.stream.device.time(nbytes, dtype, products)
        self.stream.compute(packet.__name__, picos)


def _tensors(given: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor))


def _bytes(tensor: torch.Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _traffic(packet: Any, is_mutable: bool, reads: list[torch.Tensor], writes: list[torch.Tensor]) -> int:
    """The bytes that an operation reads and writes; 0 for one that only looks at memory in another way."""
    own = {tensor._cdata for tensor in (each.untyped_storage() for each in reads)}
    made = [each for each in writes if is_mutable or each.untyped_storage()._cdata not in own]
    written = sum(map(_bytes, made))
    if not written:
        return 0
    read = [_bytes(each) for each in reads]
    return written + sum(min(each, written) if packet in GATHERS else each for each in read)


def _sizes(packet: Any, args: tuple[Any, ...]) -> Sizes | None:
    """Rows, columns and terms of a product of matrices."""
    first = PRODUCTS.get(packet)
    if first is None:
        return None
    left, right = args[first].shape, args[first + 1].shape
    return left[-2], right[-1], left[-1]


def _dtype_of(reads: list[torch.Tensor]) -> str:
    """The dtype in which an operation multiplies: that of the first floating tensor that it reads."""
    for each in reads:
        if each.is_floating_point():
            return str(each.dtype).removeprefix("torch.")
    return str(reads[0].dtype).removeprefix("torch.") if reads else ""
