"""Fully sharded data parallelism, plain: one unit of it, on public collectives. The fast form is `unit`.

    forward     gather ─► compute ─► free
    backward    gather ─► compute ─► reduce_scatter the gradients ─► free

The unit's parameters lie in one vector, `whole`, and each parameter is a view of it. A rank keeps a P-th,
its `shard`, which is what the optimizer sees. The memory of the whole comes and goes; the views stay.

    whole     [ w w w w | w w b b | b 0 0 0 ]     3 ranks: shards of 4 numbers, padded with zeros
    shard       rank 0    rank 1    rank 2

`FullyShardedDataParallel` does the same with units inside each other. It gathers the next one in time
(`prefetch`), and does not gather twice where once is enough. It knows mixed precision and offloading.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.torch_api import membership, tensor_collectives as dist
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.autograd import passes
from minitorch_dist.tensors.ops.shapes import joining
from minitorch_dist.tensors.tensor import Tensor


class PlainUnit(Module):
    """The parameters that are gathered together. Wrap each layer: `nn.Sequential(PlainUnit(layer), …)`.

    All are trained, or all are frozen: `shard.requires_grad` says which, and may change between two steps.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module
        places: dict[Parameter, list[tuple[Module, str]]] = {}  # two layers may share a parameter
        for owner in module.modules():
            for name, p in owner._parameters.items():
                if p is not None:
                    places.setdefault(p, []).append((owner, name))
        kinds = {(p.dtype, p.requires_grad) for p in places}
        if len(kinds) != 1:
            raise ValueError(
                f"the parameters of a unit lie in one vector, so they have one dtype and are all trained or all frozen; "
                f"here are {len(kinds)} kinds: {kinds}. Wrap layers of one kind, or use fully_shard"
            )
        parameters = [p.detach() for p in places]
        self.shapes = [p.shape for p in parameters]
        rank, size = membership.get_rank(), membership.get_world_size()
        flat = joining.cat([p.reshape(-1) for p in parameters])
        length = -(-flat.numel() // size)  # of a shard; the last ones may be padded
        self.whole = flat.new_zeros(length * size)
        self.whole[: flat.numel()] = flat
        dist.broadcast(self.whole, 0)
        self.nbytes = self.whole.nbytes
        self.shard = Parameter(self.whole[rank * length : (rank + 1) * length].clone())
        self.shard.requires_grad_(all(p.requires_grad for p in places))
        self.views = [view.detach().requires_grad_() for view in self.parts(self.whole)]
        for where, view in zip(places.values(), self.views, strict=True):
            for owner, name in where:
                delattr(owner, name)
                setattr(owner, name, view)  # a plain attribute: `parameters()` shows the shard alone
            view.register_post_accumulate_grad_hook(self.arrived)
        self.is_due = False  # whether this backward pass has to reduce the gradients, yet
        self.free()

    def parts(self, flat: Tensor) -> list[Tensor]:
        """Views of a vector like `whole`, in the shapes of the parameters."""
        found, begin = [], 0
        for shape in self.shapes:
            found.append(flat[begin : begin + shape.numel()].view(shape))
            begin += shape.numel()
        return found

    def gather(self) -> None:
        """Take the memory again, and fill it with what all ranks have in their shards."""
        self.whole.untyped_storage().resize_(self.nbytes)
        dist.all_gather_single(self.whole.data, self.shard.detach())

    def free(self) -> None:
        """Give the memory of the whole back."""
        self.whole.untyped_storage().resize_(0)

    def forward(self, *inputs: Any) -> Any:
        for view in self.views:
            view.requires_grad_(self.shard.requires_grad)
        self.gather()
        output = self.module(*inputs)
        self.free()
        if output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def backward_begins(self, grad: Tensor) -> None:
        """Backward has come to this unit's output. The graph needs the parameters' values again."""
        self.gather()
        self.is_due = self.shard.requires_grad
        passes.queue_callback(self.backward_ends)

    def arrived(self, view: Tensor) -> None:
        """Backward has finished a gradient. After the last one they are reduced."""
        if self.is_due and all(one.grad is not None for one in self.views):
            self.reduce()

    def reduce(self) -> None:
        """The rank adds its shard of the average to what it has, and the rest is forgotten."""
        self.is_due = False
        flat = self.whole.new_zeros(self.whole.numel())
        for one, part in zip(self.views, self.parts(flat), strict=True):
            if one.grad is not None:
                part.copy_(one.grad)
            one.grad = None
        flat.div_(membership.get_world_size())
        grad = self.shard.new_empty(self.shard.shape)
        dist.reduce_scatter_single(grad, flat)
        self.shard.grad = grad if self.shard.grad is None else self.shard.grad.add_(grad)
        self.free()

    def backward_ends(self) -> None:
        """Parameters that were not used have no gradient, and count as zeros. Nothing stays whole."""
        if self.is_due:
            self.reduce()
        self.free()
