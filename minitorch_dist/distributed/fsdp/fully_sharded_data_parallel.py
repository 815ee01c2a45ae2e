"""`FullyShardedDataParallel`: every rank keeps 1/P of each parameter, gradient and optimizer state.

    fsdp = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}))
    optimizer = Adam(fsdp.parameters())        # after wrapping: it is given the shards

The module takes the place of the module that it wraps. Wrapped modules inside each other share a
`Prefetcher`. The parameters of one of them form a `Unit`.

    module                 one FSDP module
      ├─ own parameters  ─►  unit: one flat vector, one all_gather, one reduce_scatter
      └─ FSDP modules    ─►  units of their own, left out here

The initial weights of rank 0 go to all ranks, unless `sync_module_states=False`. torch does not do this:
where ranks begin with different seeds, it trains a mixture of their shards without a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from minitorch_dist.distributed import nested_tensors
from minitorch_dist.distributed.fsdp import clipping, full_params, optim_state, saving, setup
from minitorch_dist.distributed.fsdp.options import (
    BackwardPrefetch,
    CPUOffload,
    MixedPrecision,
    ShardingStrategy,
    StateDictSettings,
)
from minitorch_dist.distributed.fsdp.prefetch import Prefetcher
from minitorch_dist.distributed.fsdp.saving import INNER
from minitorch_dist.distributed.fsdp.unit import Settings, Unit
from minitorch_dist.distributed.fsdp.wrap import Policy, wrap_children
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.not_offered import tells_what_is_gone
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.tensor import Tensor


@tells_what_is_gone
class FullyShardedDataParallel(Module):
    """Wraps `module`; see torch's class for the arguments, and the text above for what differs."""

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Policy | None = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: int | str | devices.device | None = None,
        sync_module_states: bool = True,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Parameter] | Iterable[Module] | None = None,
        device_mesh: Any = None,
    ) -> None:
        setup.refuse(
            param_init_fn=param_init_fn,
            ignored_modules=ignored_modules,
            ignored_states=ignored_states,
        )
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        group, replicas, strategy = setup.groups_of(process_group, device_mesh, strategy)
        self.process_group, self.sharding_strategy = group, strategy
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self.limit_all_gathers = limit_all_gathers  # never more than one unit ahead in any case
        self.training_state_settings = StateDictSettings()
        self._use_orig_params = use_orig_params
        if auto_wrap_policy is not None:
            options = {
                "process_group": process_group,
                "sharding_strategy": sharding_strategy,
                "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch,
                "mixed_precision": mixed_precision,
                "device_id": device_id,
                "sync_module_states": sync_module_states,
                "forward_prefetch": forward_prefetch,
                "limit_all_gathers": limit_all_gathers,
                "use_orig_params": use_orig_params,
                "device_mesh": device_mesh,
            }
            wrap_children(module, auto_wrap_policy, partial(type(self), **options))
        self.compute_device = setup.device_of(module, device_id)
        if self.compute_device is devices.META:
            raise ValueError(
                "the module is on the device meta and has no numbers to shard. Call to_empty(device=…) and reset its "
                "parameters first, or use fully_shard, which takes modules without numbers"
            )
        setup.move(module, self.compute_device, FullyShardedDataParallel)
        self.__dict__["_prefetcher"] = Prefetcher(backward_prefetch, forward_prefetch)
        self.__dict__["_is_root"] = None
        self._modules[INNER] = module
        places = setup.own_places(module, FullyShardedDataParallel)
        if sync_module_states:
            params = [getattr(p[0].module, p[0].name) for p in places]
            buffers = setup.own_buffers(module, FullyShardedDataParallel)
            setup.spread([*params, *buffers], (group, replicas))
        precision = self.mixed_precision
        self.__dict__["_unit"] = (
            Unit(
                places,
                Settings(
                    group, replicas, strategy, self.compute_device, use_orig_params,
                    self.cpu_offload.offload_params, precision.param_dtype,
                    precision.reduce_dtype,
                ),
            )
            if places
            else None
        )  # fmt: skip
        if self._unit is not None and not use_orig_params:
            module._parameters["_flat_param"] = self._unit.flat
        self.__dict__["_loading"] = saving.Loading(self)
        setup.convert_buffers(module, precision.buffer_dtype, FullyShardedDataParallel)

    _prefetcher: Prefetcher
    _unit: Unit | None
    _is_root: bool | None

    # ------------------------------------------------------------------------------- what is wrapped

    @property
    def module(self) -> Module:
        return self._modules[INNER]  # type: ignore[no-any-return]

    @property
    def _flat_param(self) -> Parameter | None:
        return None if self._unit is None else self._unit.flat

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[INNER], name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    # --------------------------------------------------------------------------------------- forward

    def _settle_root(self) -> None:
        """The outermost module takes those inside under its own prefetcher."""
        if self._is_root is not None:
            return
        self.__dict__["_is_root"] = True
        prefetcher = self._prefetcher
        prefetcher.outermost = self._unit
        for inner in self.fsdp_modules(self):
            if inner is not self:
                inner.__dict__["_is_root"] = False
                inner.__dict__["_prefetcher"] = prefetcher
            if inner._unit is not None:
                prefetcher.add(inner._unit)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_root is None:
            self._settle_root()
        precision = self.mixed_precision
        casts = (
            precision.cast_root_forward_inputs if self._is_root else precision.cast_forward_inputs
        )
        dtype = precision.param_dtype if casts else None
        if self._is_root:
            self._prefetcher.begin()
        if self._is_root or dtype is not None:
            args, kwargs = nested_tensors.moved((args, kwargs), self.compute_device, dtype)
        if self._unit is not None:
            self._prefetcher.before_forward(self._unit)
        outputs = self._modules[INNER](*args, **kwargs)
        if self._unit is not None:
            self._prefetcher.after_forward(self._unit, outputs)
        if self._is_root:
            self._prefetcher.end()
        return outputs

    # --------------------------------------------------------------------------------- between steps

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Collect gradients whole and without messages; the next backward outside reduces them.

        It costs the memory of whole gradients on every rank.
        """
        self._settle_root()
        if not self._is_root:
            raise RuntimeError(
                "`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on "
                "root FSDP module."
            )
        units = self._prefetcher.units
        before = [unit.synchronises for unit in units]
        for unit in units:
            unit.synchronises = False
        try:
            yield
        finally:
            for unit, old in zip(units, before, strict=True):
                unit.synchronises = old

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Clip by the norm over all shards of all ranks. Collective; call it on the root."""
        self._settle_root()
        if not self._is_root:
            raise RuntimeError(
                "`clip_grad_norm_()` should only be called on the root FSDP instance"
            )
        return clipping.clip(self, self._prefetcher.units, float(max_norm), float(norm_type))

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
    ) -> Iterator[None]:
        """Inside, the modules have their parameters whole, under their own names. Collective."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            found = [m for m in found if m is module]
        with ExitStack() as stack:
            for each in found:
                each._settle_root()
                if each._unit is not None:
                    stack.enter_context(
                        full_params.summoned(
                            each._unit, each.module, writeback, rank0_only, offload_to_cpu
                        )
                    )
            yield

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """`fn` sees whole parameters, and what it writes is kept."""
        with self.summon_full_params(self, recurse=False, writeback=True):
            return super().apply(fn)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """Inside `summon_full_params` the names are those of the model before it was wrapped."""
        clean = any(m._unit is not None and m._unit.is_summoned for m in self.fsdp_modules(self))
        for name, p in super().named_parameters(*args, **kwargs):
            yield (name.replace(f"{INNER}.", "") if clean else name), p

    @staticmethod
    def fsdp_modules(module: Module) -> list[FullyShardedDataParallel]:
        """All FSDP modules in the tree of `module`, itself included."""
        return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]

    # ----------------------------------------------------------------------------------------- state

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state dict of the kind that `state_dict_type` says; by default the whole model, under its own names.
        Collective."""
        self._settle_root()
        return saving.save(self, destination, prefix, keep_vars)

    set_state_dict_type = staticmethod(saving.set_state_dict_type)
    state_dict_type = staticmethod(saving.state_dict_type)
    get_state_dict_type = staticmethod(saving.get_state_dict_type)
    optim_state_dict = staticmethod(optim_state.optim_state_dict)
    optim_state_dict_to_load = staticmethod(optim_state.optim_state_dict_to_load)

    def extra_repr(self) -> str:
        return "" if self._unit is None else repr(self._unit)
