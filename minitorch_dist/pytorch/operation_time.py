"""Lets each operation of torch take the time that the rank's device needs: what `sim.device_time` does for our tensors.

    aten operation ──► bytes read and written, products ──► Device.time ──► the rank's compute stream

Both use one model of a device, and one stream for each rank. A view costs nothing. Torch's own counter of FLOPs
(`torch.utils.flop_counter`) says which operations multiply, and how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Final

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from minitorch_dist.pytorch import device_queue
from minitorch_dist.pytorch.watching import WatchingMode
from minitorch_dist.sim.device import Product
from minitorch_dist.sim.device_time import ComputeStream, DeviceTime
from minitorch_dist.tensors.flops import AttentionSizes, Sizes

aten: Final = torch.ops.aten
# They take a few rows out of many: they read as much as they write.
GATHERS: Final = {aten.embedding, aten.gather, aten.index, aten.index_select}
# Of these products one factor's last dimension is what is added up.
PRODUCTS: Final = {aten.mm: 0, aten.bmm: 0, aten.addmm: 1, aten.baddbmm: 1}
# Attention in tiles on the CPU, which torch's counter does not know. Its gradient makes the weights of each tile again.
ATTENTION: Final = {
    aten._scaled_dot_product_flash_attention_for_cpu: (0, 2),
    aten._scaled_dot_product_flash_attention_for_cpu_backward: (1, 5),
}  # the place of the queries, and how many products
KERNEL: Final = "2"  # FlashAttention-2, as in the planner
# They take room and write nothing into it.
EMPTY: Final = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten.new_empty_strided}
# They write over what they do not read.
FILLS: Final = {
    aten.copy_,
    aten.fill_,
    aten.zero_,
    aten.uniform_,
    aten.normal_,
    aten.random_,
    aten.bernoulli_,
    aten.exponential_,
    aten._foreach_copy_,
    aten._foreach_zero_,
}


class TimedOperations(WatchingMode):
    """While it is on, operations of this thread keep the rank's device busy."""

    def __init__(self, devices: DeviceTime, rank: int) -> None:
        super().__init__()
        self.devices, self.rank = devices, rank

    @property
    def stream(self) -> ComputeStream:
        """The rank's stream of now: one that is noted has another one each time that it runs."""
        return self.devices.streams[self.rank]

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if func.namespace in ("aten", "fsdp"):
            self._compute(func, args, kwargs, result)

    def _compute(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        packet = func._overloadpacket
        nbytes = 0 if func.is_view or packet in EMPTY else _traffic(func, packet, args, kwargs, result)
        count = flop_registry.get(packet) or (_attention(packet) if packet in ATTENTION else None)
        if not nbytes and count is None:
            return
        products, dtype = [], ""
        if count is not None:
            flops = count(*args, **kwargs, out_val=result)
            products, dtype = [Product(flops, _sizes(packet, args))], _dtype_of(args)
            self.stream.flops[dtype] = self.stream.flops.get(dtype, 0) + flops
        picos = self.stream.device.time(nbytes, dtype, products)
        device_queue.later(lambda: self.stream.compute(packet.__name__, picos))


def _tensors(given: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor))


def _bytes(given: Any) -> int:
    return sum(int(each.numel() * each.element_size()) for each in _tensors(given))


def _traffic(func: Any, packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> int:
    """The bytes that an operation reads and writes; 0 for one that only looks at memory in another way."""
    if packet.__name__ == "all_gather_copy_in":  # its schema does not tell what it writes
        return 2 * _bytes(args[0])
    if not func._schema.is_mutable:
        own = {each.untyped_storage()._cdata for each in _tensors((args, kwargs))}
        written = sum(_bytes(each) for each in _tensors(result) if each.untyped_storage()._cdata not in own)
        read = [_bytes(each) for each in _tensors((args, kwargs))]
        return written and written + sum(min(each, written) if packet in GATHERS else each for each in read)
    total = 0
    for number, argument in enumerate(func._schema.arguments):
        value = args[number] if number < len(args) else kwargs.get(argument.name)
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        is_read = not argument.is_out and not (is_written and packet in FILLS)
        if argument.name == "grads":  # fused optimizers scale gradients only where they are asked to
            is_written = False
        total += (is_written + is_read) * _bytes(value)
    return total


def _attention(packet: Any) -> Callable[..., int]:
    def flops(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        first, products = ATTENTION[packet]
        (*many, length, size), keys = args[first].shape, args[first + 1].shape[-2]
        is_causal = kwargs.get("is_causal", any(each is True for each in args))
        whole: int = 2 * products * prod(many) * length * keys * size
        return whole // 2 if is_causal else whole  # pairs that a mask hides do not count

    return flops


def _sizes(packet: Any, args: tuple[Any, ...]) -> Sizes | AttentionSizes | None:
    """Rows, columns and terms of a product of matrices; of attention the length and the head."""
    if packet in ATTENTION:
        query, key = args[ATTENTION[packet][0] :][:2]
        return AttentionSizes(key.shape[-2], query.shape[-1], KERNEL)
    first = PRODUCTS.get(packet)
    if first is None:
        return None
    left, right = args[first].shape, args[first + 1].shape
    return left[-2], right[-1], left[-1]


def _dtype_of(args: tuple[Any, ...]) -> str:
    """The dtype in which an operation multiplies: that of the first floating tensor that it reads."""
    reads = list(_tensors(args))
    for each in reads:
        if each.is_floating_point():
            return str(each.dtype).removeprefix("torch.")
    return str(reads[0].dtype).removeprefix("torch.") if reads else ""
