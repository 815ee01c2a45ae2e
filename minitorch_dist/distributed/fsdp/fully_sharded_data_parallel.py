"""`FullyShardedDataParallel`: every rank keeps 1/P of each parameter, gradient and optimizer state.

    fsdp = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}))
    optimizer = Adam(fsdp.parameters())        # after wrapping: it is given the shards

The module takes the place of the module that it wraps. Beneath is what `fully_shard` has, too: units and a
prefetcher. A unit's shards are pieces of one vector here, cut without regard to borders.

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
from typing import Any, Generic

from minitorch_dist.distributed.fsdp import clipping, optim_state, saving, setup
from minitorch_dist.distributed.fsdp.fully_shard import FSDPModule
from minitorch_dist.distributed.fsdp.options import (
    BackwardPrefetch,
    CPUOffload,
    MixedPrecision,
    ShardingStrategy,
    StateDictSettings,
)
from minitorch_dist.distributed.fsdp.prefetch import STATE, FSDPState, Prefetcher, after, before, settle
from minitorch_dist.distributed.fsdp.saving import INNER
from minitorch_dist.distributed.fsdp.unit import Settings, Unit
from minitorch_dist.distributed.fsdp.wrap import Policy, wrap_children
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.inventory.not_offered import refuse_options, tells_what_is_gone
from minitorch_dist.nn.modules.hooks import HasForward, Output
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.tensor import Tensor


@tells_what_is_gone
class FullyShardedDataParallel(FSDPModule, Generic[Output]):
    """Wraps `module`, so that each rank keeps only a shard of its parameters; the text of the module says what differs from torch.

    The optimizer is given this rank's piece of each parameter, as with `use_orig_params=True` in torch.

    Args:
        module: The model, or a part of it.
        process_group: The ranks among which it is sharded; None means all.
        sharding_strategy: Of which things a rank keeps a part; `FULL_SHARD` by default.
        cpu_offload: Whether shards live on the CPU.
        auto_wrap_policy: Which children become units of their own.
        backward_prefetch: When backward asks for the next unit's parameters.
        mixed_precision: The types in which is computed and reduced.
        ignored_modules: Refused; wrap the other modules instead.
        param_init_fn: Refused; `fully_shard` takes modules on `meta`.
        device_id: The simulated device to compute on.
        sync_module_states: Take rank 0's values at the beginning.
        forward_prefetch: Ask for the next unit's parameters in forward, too.
        limit_all_gathers: Accepted as in torch; it changes nothing.
        use_orig_params: Accepted as in torch; parameters keep their names in any case.
        ignored_states: Refused.
        device_mesh: A mesh instead of groups; of two dimensions with `HYBRID_SHARD`.

    Example:
        >>> def train():
        ...     model = dist.fsdp.FullyShardedDataParallel(nn.Linear(2, 1, bias=False))
        ...     optimizer = optim.SGD(model.parameters(), lr=0.1)
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     optimizer.step()
        ...     return sum(p.numel() for p in model.parameters())  # one of two elements
        >>> sim.run(train, 2).results
        [1, 1]
    """

    def __init__(
        self,
        module: HasForward[..., Output],
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
        given = {"param_init_fn": param_init_fn, "ignored_modules": ignored_modules, "ignored_states": ignored_states}
        refuse_options("FSDP", **given)
        super().__init__()
        model: Any = module
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        group, replicas, strategy = setup.groups_of(process_group, device_mesh, strategy)
        self.process_group, self.sharding_strategy = group, strategy
        self.mixed_precision = precision = mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self.training_state_settings = StateDictSettings()
        if auto_wrap_policy is not None:
            wrapper = partial(
                type(self),
                process_group=process_group,
                sharding_strategy=sharding_strategy,
                cpu_offload=cpu_offload,
                backward_prefetch=backward_prefetch,
                mixed_precision=mixed_precision,
                device_id=device_id,
                sync_module_states=sync_module_states,
                forward_prefetch=forward_prefetch,
                device_mesh=device_mesh,
            )
            wrap_children(model, auto_wrap_policy, wrapper)
        device = setup.device_of(model, device_id)
        if device is devices.META:
            raise ValueError(
                "the module is on the device meta and has no numbers to shard. Call to_empty(device=…) and reset its "
                "parameters first, or use fully_shard, which takes modules without numbers"
            )
        setup.move(model, device)
        self._modules[INNER] = model
        places = setup.own_places(model)
        if sync_module_states:
            params = [getattr(p[0].module, p[0].name) for p in places]
            setup.spread([*params, *setup.own_buffers(model)], (group, replicas))
        is_cut = strategy is not ShardingStrategy.NO_SHARD
        settings = Settings(group, replicas, device, self.cpu_offload.offload_params, precision, is_cut)
        unit = Unit(places, settings) if places else None
        frees = None if strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD) else False
        prefetcher = Prefetcher(backward_prefetch, forward_prefetch)
        self.__dict__[STATE] = FSDPState(unit, prefetcher, frees, device, precision)
        self.register_load_state_dict_pre_hook(saving.give_pieces)
        if precision.buffer_dtype is not None:
            setup.convert_buffers(model, precision.buffer_dtype)

    @property
    def module(self) -> Module:
        return self._modules[INNER]  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[INNER], name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    def forward(self, *args: Any, **kwargs: Any) -> Output:
        args, kwargs = before(self, args, kwargs)
        return after(self, args, self._modules[INNER](*args, **kwargs))  # type: ignore[no-any-return]

    # --------------------------------------------------------------------------------- between steps

    def _check_root(self, name: str) -> None:
        settle(self)
        if not self._state.is_root:
            raise RuntimeError(f"`{name}()` should only be called on the root FSDP instance")

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Collect gradients whole and without messages; the next backward outside reduces them.

        It costs the memory of whole gradients on every rank.

        Example:
            >>> def program():
            ...     model = dist.fsdp.FullyShardedDataParallel(nn.Linear(1, 1, bias=False))
            ...     with model.no_sync():
            ...         model(torch.ones(1, 1)).sum().backward()
            ...     model(torch.ones(1, 1)).sum().backward()
            ...     return [p.grad.sum().item() for p in model.parameters() if p.numel()]
            >>> sim.run(program, 2).results
            [[2.0], []]
        """
        self._check_root("no_sync")
        self.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.set_requires_gradient_sync(True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Clip by the norm over all shards of all ranks. Collective; call it on the root.

        Args:
            max_norm: The norm that gradients have at most afterwards.
            norm_type: The order of the norm; 2 is the usual one.

        Returns:
            The norm that they had.

        Example:
            >>> def program():
            ...     model = dist.fsdp.FullyShardedDataParallel(nn.Linear(4, 1, bias=False))
            ...     model(torch.ones(1, 4)).sum().backward()
            ...     return model.clip_grad_norm_(1.0).item()
            >>> sim.run(program, 2).results
            [2.0, 2.0]
        """
        self._check_root("clip_grad_norm_")
        return clipping.clip(self, self._units(True), float(max_norm), float(norm_type))

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
    ) -> Iterator[None]:
        """Inside, the modules have their parameters whole, under their own names. Collective.

        Args:
            module: An FSDP module, or one that has some below it.
            recurse: Also the units below it.
            writeback: Keep what is written to the parameters inside.
            rank0_only: Only rank 0 has them whole.
            offload_to_cpu: They are on the CPU.

        Example:
            >>> def program():
            ...     model = dist.fsdp.FullyShardedDataParallel(nn.Linear(2, 2, bias=False))
            ...     with dist.fsdp.FullyShardedDataParallel.summon_full_params(model):
            ...         return [tuple(p.shape) for p in model.parameters()]
            >>> sim.run(program, 2).results[1]
            [(2, 2)]
        """
        found = FullyShardedDataParallel.fsdp_modules(module)
        with ExitStack() as stack:
            for each in found if recurse else [m for m in found if m is module]:
                settle(each)
                if each._state.unit is not None:
                    stack.enter_context(saving.summoned(each._state.unit, writeback, rank0_only, offload_to_cpu))
            yield

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """`fn` sees whole parameters, and what it writes is kept."""
        with self.summon_full_params(self, recurse=False, writeback=True):
            return super().apply(fn)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """Inside `summon_full_params` the names are those of the model before it was wrapped."""
        clean = any(unit.is_summoned for unit in self._units(True))
        for name, p in super().named_parameters(*args, **kwargs):
            yield (name.replace(f"{INNER}.", "") if clean else name), p

    @staticmethod
    def fsdp_modules(module: Module) -> list[FullyShardedDataParallel]:
        """All FSDP modules in the tree of `module`, itself included."""
        return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]

    # ----------------------------------------------------------------------------------------- state

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """The state dict of the kind that `state_dict_type` says; by default the whole model, under its own names.
        Collective."""
        settle(self)
        return saving.save(self, destination, prefix, keep_vars)  # type: ignore[no-any-return]

    state_dict_type = staticmethod(saving.state_dict_type)
    optim_state_dict = staticmethod(optim_state.optim_state_dict)
    optim_state_dict_to_load = staticmethod(optim_state.optim_state_dict_to_load)

    def extra_repr(self) -> str:
        return "" if self._state.unit is None else repr(self._state.unit)
