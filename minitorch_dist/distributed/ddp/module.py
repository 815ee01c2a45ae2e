"""`DistributedDataParallel`: every rank trains the same model on its own data.

    model = DistributedDataParallel(model)      shapes are compared, rank 0's values taken
    loss = criterion(model(x), y)               buffers are taken from rank 0
    loss.backward()                             gradients are averaged (see `reducer`)
    optimizer.step()                            the same step on every rank

Since all ranks start equal and take equal steps, they stay equal: parameters are never sent again.
The constructor, `forward` and `backward` are collectives, which all ranks must call alike. The same in
three simple forms: `steps`.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import distributed_c10d, nested_tensors
from minitorch_dist.distributed.algorithms.ddp_comm_hooks import default_hooks
from minitorch_dist.distributed.algorithms.join import Join, Joinable, JoinHook
from minitorch_dist.distributed.ddp import agreement, arguments, comm_hooks, logging_data, unused
from minitorch_dist.distributed.ddp.advice import advising
from minitorch_dist.distributed.ddp.buckets import Caps
from minitorch_dist.distributed.ddp.comm_hooks import BufferHook, Hook, _BufferCommHookLocation
from minitorch_dist.distributed.ddp.delayed import Delayed
from minitorch_dist.distributed.ddp.join_hook import (
    DDPJoinHook,
    common_rank,
    divisor_of,
    says_whether_it_syncs,
)
from minitorch_dist.distributed.ddp.mixed_precision import LowPrecision, _MixedPrecision
from minitorch_dist.distributed.ddp.reducer import Reducer
from minitorch_dist.distributed.ddp.without_backward import reduce_now
from minitorch_dist.distributed.grad_bucket import BuiltinCommHookType
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core.base import TensorBase


class DistributedDataParallel(Module, Joinable):
    """Averages the gradients of `module` over the ranks of `process_group`.

    `device_ids`: None, or the one simulated device that the module is on; inputs are moved there.
    `bucket_cap_mb`: gradients are sent in pieces of so many MiB (25, and the first of 1 MiB).
    `find_unused_parameters`: the loss may leave parameters out, other ones on each rank.
    `static_graph`: which are used, and how often, never changes.
    `gradient_as_bucket_view`: `.grad` looks into the bucket, which saves a copy of all gradients.
    `forward_sync_buffers`: take rank 0's buffers before each forward (formerly `broadcast_buffers`).
    `init_sync`: compare shapes and take rank 0's values now; without it, that is up to you.
    `delay_all_reduce_named_params`: reduced when the gradient of `param_to_hook_all_reduce` is there.
    """

    def __init__(
        self,
        module: Module,
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
        mixed_precision: _MixedPrecision | None = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the "
                "same time."
            )
        self.device_mesh = device_mesh
        self.process_group = arguments.group_of(process_group, device_mesh)
        delayed = list(delay_all_reduce_named_params or ())
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored | {name for name, _ in delayed}
        own = [p for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
        if not any(p.requires_grad for p in own) and not delayed:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self.module, self.dim = module, dim
        place = arguments.place_of(own or [p for _, p in delayed], device_ids, output_device)
        self.device, self.device_type = place.device, place.device.type
        self.device_ids, self.output_device = place.ids, place.output
        self.is_multi_device_module = place.is_split
        at_start, self.forward_sync_buffers = arguments.which_buffers(
            broadcast_buffers, forward_sync_buffers
        )
        if check_reduction:
            warnings.warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. "
                "Please avoid using it.",
                FutureWarning,
                stacklevel=2,
            )
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view, self.mixed_precision = (
            gradient_as_bucket_view,
            mixed_precision,
        )
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self.batched_grad_copy = batched_grad_copy
        self.require_forward_param_sync = True
        self._caps = Caps.of(bucket_cap_mb, bucket_cap_mb_list)
        self.bucket_bytes_cap = self._caps.usual
        self.buffer_hook: BufferHook | None = None
        self._buffer_futures: list[Any] = []  # of this hook
        self._comm_hook_name = ""
        if init_sync:
            names, parameters = self._trained()
            delayed_names = [name for name, _ in delayed]
            agreement.check_shapes(
                self.process_group,
                [*names, *delayed_names],
                [*parameters, *[p for _, p in delayed]],
            )
            agreement.broadcast_from(
                self.process_group, [*self._state(at_start), *[p for _, p in delayed]]
            )
        self._low = None if mixed_precision is None else LowPrecision(mixed_precision, module)
        self._delayed = Delayed(self.process_group, delayed) if delayed else None
        self.reducer = self._make_reducer()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Sequence[str]
    ) -> None:
        """Name what DDP is to leave alone in `module`: neither compared, nor broadcast, nor averaged."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _trained(self) -> tuple[list[str], list[TensorBase]]:
        """The parameters to be reduced, in the order of registration, and their names."""
        found = [
            (name, p)
            for name, p in self.module.named_parameters()
            if p.requires_grad and name not in self.parameters_to_ignore
        ]
        return [name for name, _ in found], [p for _, p in found]

    def _state(self, with_buffers: bool = True) -> list[TensorBase]:
        """The tensors that have to be equal on all ranks."""
        ignored = self.parameters_to_ignore
        found: list[TensorBase] = [p for n, p in self.module.named_parameters() if n not in ignored]
        return found + (list(self._buffers_here().values()) if with_buffers else [])

    def _buffers_here(self) -> dict[str, TensorBase]:
        ignored = self.parameters_to_ignore
        return {n: b for n, b in self.module.named_buffers() if n not in ignored}

    def _make_reducer(self) -> Reducer:
        names, parameters = self._trained()
        low = self.mixed_precision
        made = Reducer(
            parameters,
            names,
            self.process_group,
            self._caps,
            self._usage(),
            as_views=self.gradient_as_bucket_view,
            whole_buckets=self.batched_grad_copy,
            dtype=None if low is None else low.reduce_dtype or low.param_dtype,
        )
        if self._delayed is not None:
            made.extra.append(self._delayed.send)
        if self.buffer_hook is not None:
            made.extra.append(self._await_buffers)
        return made

    def _usage(self) -> unused.Usage:
        """Which parameters the loss may leave out, as the arguments say."""
        skips = self.skip_all_reduce_unused_params
        if self.static_graph:
            return unused.StaticGraph(self.find_unused_parameters, skips)
        return unused.FindUnused(skips) if self.find_unused_parameters else unused.Usage(skips)

    def _set_static_graph(self) -> None:
        """As if `static_graph=True` had been given; before the first iteration."""
        self.static_graph = True
        self.reducer.usage = self._usage()

    @property
    def require_backward_grad_sync(self) -> bool:
        """Whether gradients of what goes forward now will be averaged."""
        return self.reducer.synchronises

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        self.reducer.synchronises = value

    @property
    def broadcast_buffers(self) -> bool:
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    # ------------------------------------------------------------------------------------ forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        inputs, kwargs = self._before_forward(inputs, kwargs)
        if self._low is None:
            return self._after_forward(self.module(*inputs, **kwargs))
        with self._low.in_place():
            output = self.module(*self._low.cast(inputs), **self._low.cast(kwargs))
        return self._after_forward(output)

    def _before_forward(self, inputs: Any, kwargs: Any) -> tuple[Any, Any]:
        records = grad_modes.is_grad_enabled()
        if records and self.require_backward_grad_sync:
            self.reducer.forward_start = self.reducer.now()
        with advising(self.reducer.iteration, "the beginning of forward"):
            work = Join.notify_join_context(self)
            if work is not None:
                self.reducer.ask_divisor = divisor_of(self, work)
            if self._syncs_buffers(_BufferCommHookLocation.PRE_FORWARD):
                self._sync_buffers()
            if self._join_config.enable:
                says_whether_it_syncs(self, self.require_backward_grad_sync)
        if self.device_ids:
            target = devices.device(self.device_type, self.device_ids[0])
            return nested_tensors.moved(inputs, target), nested_tensors.moved(kwargs, target)
        return inputs, kwargs

    def _after_forward(self, output: Any) -> Any:
        if self._syncs_buffers(_BufferCommHookLocation.POST_FORWARD):
            self._sync_buffers()
        if not grad_modes.is_grad_enabled():
            self.require_forward_param_sync = False
            return output
        tensors = list(nested_tensors.tensors_in(output))
        if self._low is not None:
            self._low.watch(tensors)
        self.require_forward_param_sync = self.require_backward_grad_sync
        if self.require_backward_grad_sync:
            self.reducer.outputs.watch(tensors)
        return output

    # ------------------------------------------------------------------------------------ buffers

    def _syncs_buffers(self, where: _BufferCommHookLocation) -> bool:
        here = self.buffer_hook.location if self.buffer_hook else where.PRE_FORWARD
        return here is where and self.will_sync_module_buffers()

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward takes rank 0's buffers."""
        return (
            self.require_forward_param_sync
            and self.forward_sync_buffers
            and bool(self._buffers_here())
        )

    def _sync_buffers(self, source: int = 0) -> None:
        """Take the buffers of rank 0, or under Join of the largest rank that still trains."""
        if self._join_config.enable:
            source = common_rank(self, self.process_group.rank())
        self._take_buffers(source)

    def _take_buffers(self, source: int) -> None:
        buffers = self._buffers_here()
        if self.buffer_hook is None:
            agreement.broadcast_from(self.process_group, list(buffers.values()), source, False)
            return
        futures = self.buffer_hook.hook(self.buffer_hook.state, buffers)
        if futures is not None:
            self._buffer_futures.extend(futures)

    # -------------------------------------------------------------------------- accumulating, hooks

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within this block gradients are added up on each rank; the first forward and backward
        after it average all that was collected. Forward has to be in the block, too."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def sync_gradients(self) -> None:
        """Average what was collected within `no_sync`, without another backward. (torch has no such
        function.) Every rank calls it."""
        with advising(self.reducer.iteration, "sync_gradients"):
            reduce_now(self.reducer)

    def register_comm_hook(self, state: object, hook: Hook) -> None:
        """Let `hook(state, bucket)` reduce the buckets: it returns a Future of the flat result.
        Buckets are not divided for it. Once, and before the first backward."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        arguments.check_signature(hook)
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._comm_hook_name = getattr(hook, "__qualname__", repr(hook))
        comm_hooks.reduce_with(self.reducer, state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        """One of the hooks by name, on this model's group."""
        hooks = {
            BuiltinCommHookType.ALLREDUCE: default_hooks.allreduce_hook,
            BuiltinCommHookType.FP16_COMPRESS: default_hooks.fp16_compress_hook,
        }
        self.register_comm_hook(self.process_group, hooks[comm_hook_type])
        self._comm_hook_name = str(comm_hook_type)

    def _register_buffer_comm_hook(
        self,
        state: Any,
        hook: Callable[..., Any],
        comm_hook_location: _BufferCommHookLocation = _BufferCommHookLocation.POST_FORWARD,
    ) -> None:
        """Let `hook(state, named_buffers)` make the buffers equal, in place of the broadcast."""
        if not callable(hook):
            raise AssertionError(f"hook must be callable, got {type(hook).__name__}")
        if self.buffer_hook is None:
            self.reducer.extra.append(self._await_buffers)
        self.buffer_hook = BufferHook(hook, state, comm_hook_location)

    def _await_buffers(self) -> Callable[[], None]:
        """Begin nothing. The result waits for the futures of the buffer hook."""

        def wait() -> None:
            while self._buffer_futures:
                self._buffer_futures.pop().wait()

        return wait

    # --------------------------------------------------------------------------------------- Join

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """`Join([self], …)`: ranks may have different numbers of inputs. Gradients are divided by the
        number of ranks, or by the number of those that still train."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        self._divides_by_initial = bool(kwargs.get("divide_by_initial_world_size", True))
        return DDPJoinHook(self)

    @property
    def join_device(self) -> devices.device:
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group

    # ---------------------------------------------------------------------------- asking, pickling

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """The times and counts of the last iterations, under torch's names; `buckets` has each bucket's
        times, in nanoseconds from the start of backward. `hidden` is what computing has covered."""
        return logging_data.of(self)

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
