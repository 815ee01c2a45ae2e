"""`DistributedDataParallel`: every rank trains the same model on its own data.

    model = DistributedDataParallel(model)      shapes are compared, rank 0's values taken
    loss = criterion(model(x), y)               buffers are taken from rank 0
    loss.backward()                             gradients are averaged (see `reducer`)
    optimizer.step()                            the same step on every rank

Since all ranks start equal and take equal steps, they stay equal: parameters are never sent again.
The constructor, `forward` and `backward` are collectives, which all ranks must call alike. Lessons 17 to 19
have the same in three simple forms.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic

from minitorch_dist.distributed import distributed_c10d, nested_tensors
from minitorch_dist.distributed.algorithms.join import Joinable, JoinHook
from minitorch_dist.distributed.ddp import agreement, arguments, join_hook
from minitorch_dist.distributed.ddp.buckets import caps_of
from minitorch_dist.distributed.ddp.reducer import Hook, Reducer
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.inventory.not_offered import refuse_options, tells_what_is_gone
from minitorch_dist.nn.modules.hooks import HasForward, Output
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core.base import TensorBase


@tells_what_is_gone
class DistributedDataParallel(Module, Joinable, Generic[Output]):
    """Averages the gradients of `module` over the ranks of `process_group`.

    Gradients travel in buckets while backward goes on. Rank 0's values count at the beginning.

    Args:
        module: The model of this rank; all ranks have the same one.
        device_ids: None, or the one simulated device that the module is on; inputs are moved there.
        output_device: The simulated device of the outputs; the module's by default.
        dim: The dimension of the batch, as in torch.
        broadcast_buffers: The former name of `forward_sync_buffers`.
        init_sync: Compare shapes and take rank 0's values now; without it, that is up to you.
        process_group: The ranks; None means all.
        bucket_cap_mb: Gradients are sent in pieces of so many MiB (25, and the first of 1 MiB).
        find_unused_parameters: The loss may leave parameters out, other ones on each rank.
        check_reduction: Accepted as in torch; it changes nothing.
        gradient_as_bucket_view: `.grad` looks into the bucket, which saves a copy of all gradients.
        static_graph: The same as `find_unused_parameters` here. (torch learns it in the first pass.)
        delay_all_reduce_named_params: Refused.
        param_to_hook_all_reduce: Refused.
        mixed_precision: Refused; use `autocast`.
        device_mesh: A mesh of one dimension, instead of `process_group`.
        skip_all_reduce_unused_params: Refused.
        bucket_cap_mb_list: Refused.
        batched_grad_copy: Accepted as in torch; it changes nothing.
        forward_sync_buffers: Take rank 0's buffers before each forward (formerly `broadcast_buffers`).

    Raises:
        RuntimeError: No parameter requires a gradient, or a parameter was left out unexpectedly.
        DistMismatch: The models of the ranks differ.

    Example:
        >>> def train():
        ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
        ...     x = torch.tensor([[1.0 + dist.get_rank()]])
        ...     model(x).sum().backward()
        ...     return model.module.weight.grad.item()  # the mean of 1.0 and 2.0
        >>> sim.run(train, 2).results
        [1.5, 1.5]
    """

    def __init__(
        self,
        module: HasForward[..., Output],
        device_ids: Sequence[int | str | devices.device] | None = None,
        output_device: int | str | devices.device | None = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Sequence[tuple[str, TensorBase]] | None = None,
        param_to_hook_all_reduce: TensorBase | None = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        model: Any = module
        Module.__init__(self)
        Joinable.__init__(self)
        refuse_options(
            "DistributedDataParallel",
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            mixed_precision=mixed_precision,
            skip_all_reduce_unused_params=skip_all_reduce_unused_params,
            bucket_cap_mb_list=bucket_cap_mb_list,
        )
        self.device_mesh = device_mesh
        self.process_group = arguments.group_of(process_group, device_mesh)
        if not any(p.requires_grad for p in model.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self.module: Module = model
        self.dim = dim
        parameters = list(model.parameters())
        self.device, self.device_ids, self.output_device = arguments.place_of(parameters, device_ids, output_device)
        self.device_type = self.device.type
        at_start, self.forward_sync_buffers = arguments.which_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_forward_param_sync = True
        self._caps = caps_of(bucket_cap_mb)
        if init_sync:
            agreement.check_shapes(self.process_group, *self._trained())
            buffers = list(model.buffers()) if at_start else []
            agreement.broadcast_from(self.process_group, [*model.parameters(), *buffers])
        self.reducer = self._make_reducer()

    def _trained(self) -> tuple[list[str], list[TensorBase]]:
        """The names of the parameters to be reduced, in the order of registration, and the parameters."""
        found = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        return [name for name, _ in found], [p for _, p in found]

    def _make_reducer(self) -> Reducer:
        names, parameters = self._trained()
        finds_unused, as_views = self.find_unused_parameters or self.static_graph, self.gradient_as_bucket_view
        return Reducer(parameters, names, self.process_group, self._caps, finds_unused=finds_unused, as_views=as_views)

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether gradients of what goes forward now will be averaged."""
        return self.reducer.synchronises

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self.reducer.synchronises = value

    # ------------------------------------------------------------------------------------ forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Output:
        source = join_hook.announce(self) if self._join_config.enable else 0
        if self.will_sync_module_buffers():
            self._take_buffers(source)
        if self.device_ids:
            target = devices.device(self.device_type, self.device_ids[0])
            inputs, kwargs = nested_tensors.moved((inputs, kwargs), target)
        output: Output = self.module(*inputs, **kwargs)
        records = grad_modes.is_grad_enabled()
        self.require_forward_param_sync = records and self.require_backward_grad_sync
        if self.require_forward_param_sync:
            self.reducer.outputs.watch(list(nested_tensors.tensors_in(output)))
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward takes rank 0's buffers."""
        return (
            self.require_forward_param_sync and self.forward_sync_buffers and any(True for _ in self.module.buffers())
        )

    def _take_buffers(self, source: int) -> None:
        buffers = list(self.module.buffers())
        agreement.broadcast_from(self.process_group, buffers, source, count_as_write=False)

    # -------------------------------------------------------------------------- accumulating, hooks

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within this block gradients are added up on each rank; the first forward and backward
        after it average all that was collected. Forward has to be in the block, too.

        Example:
            >>> def train():
            ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
            ...     with model.no_sync():
            ...         model(torch.ones(1, 1)).sum().backward()
            ...     model(torch.ones(1, 1) * dist.get_rank()).sum().backward()
            ...     return model.module.weight.grad.item()
            >>> sim.run(train, 2).results
            [1.5, 1.5]
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Hook) -> None:
        """Let `hook(state, bucket)` reduce the buckets: it returns a Future of the flat result.
        Buckets are not divided for it. Once, and before the first backward.

        Args:
            state: Passed to the hook as its first argument.
            hook: Called with the state and a bucket; it returns a Future of the bucket's new tensor.

        Example:
            >>> def averaged(state, bucket):
            ...     work = dist.all_reduce(bucket.buffer(), async_op=True)
            ...     return work.get_future().then(lambda future: future.value()[0] / 2)
            >>> def train():
            ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
            ...     model.register_comm_hook(None, averaged)
            ...     model(torch.ones(1, 1) * dist.get_rank()).sum().backward()
            ...     return model.module.weight.grad.item()
            >>> sim.run(train, 2).results
            [0.5, 0.5]
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.reduce_with(state, hook)

    # --------------------------------------------------------------------------------------- Join

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return join_hook.DDPJoinHook(self)

    @property
    def join_device(self) -> devices.device:
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group

    # ------------------------------------------------------------------------------------ pickling

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group != distributed_c10d._get_default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process "
                "group. That is, when you have called init_process_group and have not passed "
                "process_group argument to DDP constructor"
            )
        attributes = copy.copy(self.__dict__)
        del attributes["process_group"], attributes["reducer"]
        return attributes

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = distributed_c10d._get_default_group()
        self.reducer = self._make_reducer()
