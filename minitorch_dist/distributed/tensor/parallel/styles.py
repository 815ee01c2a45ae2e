"""How one layer is cut over the ranks of a mesh, and what goes in and out of it.

    x (copied) ─► │ columns 0-3 │ ─► half of h ─► │ rows 0-3 │ ─► summand ┐
                  │ columns 4-7 │ ─► half of h ─► │ rows 4-7 │ ─► summand ┴ sum ─► y (copied)
                    ColwiseParallel                 RowwiseParallel

A column layer's outputs are exactly the inputs that a row layer needs, so the pair sends nothing in
between. Megatron-LM: Shoeybi et al. 2019, arXiv:1909.08053; sequence parallelism: Korthikanti et
al. 2022, arXiv:2205.05198.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.dtensor import DParameter, distribute_tensor
from minitorch_dist.distributed.tensor.parallel.activations import convert, enter
from minitorch_dist.distributed.tensor.placements import Partial, Placement, Replicate, Shard
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.modules.sparse import Embedding
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.core.operations import add
from minitorch_dist.tensors.tensor import Tensor


class ParameterPart(Parameter):
    """A `DParameter` while its layer computes: this rank's part, as an ordinary parameter."""


class ParallelStyle:
    """`_apply(module, mesh)` cuts the parameters and hooks the communication in."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        raise NotImplementedError

    def _cut(self, module: Module, mesh: DeviceMesh, **placements: Placement) -> None:
        for name, placement in placements.items():
            p = module._parameters.get(name)
            if p is not None:
                new = distribute_tensor(p, mesh, [placement], src_data_rank=self.src_data_rank)
                module._parameters[name] = new  # type: ignore[assignment]
        _show_parts(module)

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if v is not None)
        return f"{type(self).__name__}({options})"


def _show_parts(module: Module) -> None:
    """Let the module find ordinary parameters while it computes."""
    shown: list[Any] = []

    def before(each: Module, _: Any) -> None:
        found = [p for p in each._parameters.values() if type(p) is DParameter]
        for p in found:
            p.__class__ = ParameterPart  # type: ignore[assignment]
        shown.extend(found)

    def after(*_: Any) -> None:
        while shown:
            shown.pop().__class__ = DParameter

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after, always_call=True)


class CutStyle(ParallelStyle):
    """A layer whose weight is cut. Inputs come and outputs go as `input_layouts` and `output_layouts` say."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts, self.output_layouts = input_layouts, output_layouts
        self.use_local_output = use_local_output


class ColwiseParallel(CutStyle):
    """Each rank has some of the outputs (of an Embedding: some of the features).

    Args:
        input_layouts: How the input lies; whole on every rank by default.
        output_layouts: How the output shall lie; cut along the last dimension by default.
        use_local_output: Give the local tensor and not a DTensor.

    Example:
        >>> from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, parallelize_module
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     layer = parallelize_module(nn.Linear(4, 8), mesh, ColwiseParallel())
        ...     return tuple(layer(torch.ones(1, 4)).shape)
        >>> sim.run(program, 2).results
        [(1, 4), (1, 4)]
    """

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        group, given = mesh.get_group(), self.input_layouts or Replicate()
        wanted = self.output_layouts or Shard(-1)
        if isinstance(module, Linear):
            self._cut(module, mesh, weight=Shard(0), bias=Shard(0))
        elif isinstance(module, Embedding):
            self._cut(module, mesh, weight=Shard(1))
        else:
            raise NotImplementedError(_only_linear("ColwiseParallel", module))

        def before(_: Module, args: Any) -> Any:
            if args[0].is_floating_point():
                x = enter(args[0], group, given)
            else:
                x = convert(args[0], given, Replicate(), group)
            return (x, *args[1:])

        module.register_forward_pre_hook(before)
        if wanted != Shard(-1):
            module.register_forward_hook(lambda _, __, y: convert(y, Shard(-1), wanted, group))
        return module


class RowwiseParallel(CutStyle):
    """Each rank has some of the inputs (of an Embedding: some of the rows), and computes a summand of all outputs.

    The bias is added once, to the sum.

    Args:
        input_layouts: How the input lies; cut along the last dimension by default.
        output_layouts: How the output shall lie; whole on every rank by default.
        use_local_output: Give the local tensor and not a DTensor.

    Example:
        >>> from minitorch_dist.distributed.tensor.parallel import RowwiseParallel, parallelize_module
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     layer = parallelize_module(nn.Linear(4, 8), mesh, RowwiseParallel())
        ...     return tuple(layer(torch.ones(1, 2)).shape)  # each rank has half of the inputs
        >>> sim.run(program, 2).results
        [(1, 8), (1, 8)]
    """

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        if isinstance(module, Embedding):
            return self._apply_to_rows(module, mesh)
        group, given = mesh.get_group(), self.input_layouts or Shard(-1)
        wanted = self.output_layouts or Replicate()
        if not isinstance(module, Linear):
            raise NotImplementedError(_only_linear("RowwiseParallel", module))
        self._cut(module, mesh, weight=Shard(1), bias=Replicate())
        bias = module._parameters.get("bias")

        def before(each: Module, args: Any) -> Any:
            each._parameters["bias"] = None  # every rank would add it
            return (convert(args[0], given, Shard(-1), group), *args[1:])

        def after(each: Module, _: Any, y: Tensor) -> Any:
            each._parameters["bias"] = bias
            y = convert(y, Partial(), wanted, group)
            if bias is None:
                return y
            if isinstance(wanted, Shard):
                cuts_bias = wanted.dim % y.ndim == y.ndim - 1
                return add(y, convert(bias, Replicate(), Shard(-1), group) if cuts_bias else enter(bias, group))
            return add(y, bias)  # the operator would ask how `y` lies

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after, always_call=False)
        return module

    def _apply_to_rows(self, module: Embedding, mesh: DeviceMesh) -> Module:
        """Each rank looks up the rows that it has, and leaves zeros where others have them."""
        group, given = mesh.get_group(), self.input_layouts or Shard(-1)
        wanted, padding = self.output_layouts or Replicate(), module.padding_idx
        self._cut(module, mesh, weight=Shard(0))
        each = -(-module.num_embeddings // group.size())  # rows of a rank; the last ones have fewer
        first = min(group.rank() * each, module.num_embeddings)
        last = min(first + each, module.num_embeddings)
        masks: list[Tensor] = []

        def before(layer: Module, args: Any) -> Any:
            rows = convert(args[0], given, Replicate(), group)
            if bool(((rows < 0) | (rows >= module.num_embeddings)).any()):
                raise IndexError("index out of range in self")
            masks.append((rows >= first) & (rows < last))
            is_here = padding is not None and first <= padding < last
            layer.padding_idx = padding - first if is_here else None  # type: ignore[operator]
            return (rows[masks[-1]] - first, *args[1:])

        def after(layer: Module, _: Any, y: Tensor) -> Any:
            mask, layer.padding_idx = masks.pop(), padding
            summand = y.new_zeros((*mask.array.shape, y.array.shape[-1]))
            summand[mask] = y
            return convert(summand, Partial(), wanted, group)

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)
        return module


class SequenceParallel(ParallelStyle):
    """A layer without cut parameters (LayerNorm, Dropout) on a part of the sequence each.

    Its parameters' gradients are summed over the ranks, since each has seen a part.

    Args:
        sequence_dim: The dimension of the sequence.
        use_local_output: Give the local tensor and not a DTensor.

    Example:
        >>> from minitorch_dist.distributed.tensor.parallel import SequenceParallel, parallelize_module
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     layer = parallelize_module(nn.LayerNorm(4), mesh, SequenceParallel(use_local_output=True))
        ...     return tuple(layer(torch.ones(1, 3, 4)).shape)  # three of six positions
        >>> sim.run(program, 2).results
        [(1, 3, 4), (1, 3, 4)]
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        group = mesh.get_group()
        own = {name: Replicate() for name, p in module._parameters.items() if p is not None}
        self._cut(module, mesh, **own)
        held = {name: module._parameters[name] for name in own}

        def before(each: Module, args: Any) -> None:
            for name, p in held.items():  # entered anew, so that gradients are summed
                each._parameters.pop(name, None)
                each.__dict__[name] = enter(p, group)  # type: ignore[arg-type]

        def after(each: Module, *_: Any) -> None:
            for name, p in held.items():
                each.__dict__.pop(name, None)
                each._parameters[name] = p

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)
        return module


class PrepareModuleInput(ParallelStyle):
    """Convert the inputs of a module of any kind."""

    def __init__(self, *, input_layouts: Any, desired_input_layouts: Any, use_local_output: bool = False) -> None:
        self.input_layouts, self.desired_input_layouts = _pairs("input_layouts", input_layouts, desired_input_layouts)

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        has, wants, group = self.input_layouts, self.desired_input_layouts, mesh.get_group()

        def before(_: Module, args: Any) -> Any:
            if len(args) != len(has):
                raise ValueError(f"module inputs and input_layouts should have same length: {len(args)} and {len(has)}")
            return _each(args, has, wants, group)

        module.register_forward_pre_hook(before)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Convert the outputs of a module."""

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _pairs(
            "output_layouts", output_layouts, desired_output_layouts
        )

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        has, wants, group = self.output_layouts, self.desired_output_layouts, mesh.get_group()

        def after(_: Module, __: Any, outputs: Any) -> Any:
            found = _each(_as_tuple(outputs), has, wants, group)
            return found if isinstance(outputs, tuple) else found[0]

        module.register_forward_hook(after)
        return module


def _each(values: Any, has: Any, wants: Any, group: Any) -> tuple[Any, ...]:
    return tuple(
        value if a is None or b is None else convert(value, a, b, group)
        for value, a, b in zip(values, has, wants, strict=True)
    )


def _pairs(name: str, has: Any, wants: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    has, wants = _as_tuple(has), _as_tuple(wants)
    if len(has) != len(wants):
        raise AssertionError(f"{name} and desired_{name} should have same length!")
    return has, wants


def _as_tuple(layouts: Any) -> tuple[Any, ...]:
    return tuple(layouts) if isinstance(layouts, (tuple, list)) else (layouts,)


def _only_linear(style: str, module: Module) -> str:
    return f"{style} currently only support nn.Linear and nn.Embedding, not {type(module).__name__}!"
