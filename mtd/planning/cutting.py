"""Cut a part of a transformer over the ranks of tensor parallelism, as Megatron-LM does.

    norm (a part of the sequence) ─► all_gather ─► columns ─► rows ─► reduce_scatter ─► + (a part of the sequence)

Without `sequence` the norms see it all: the two collectives are then one all_reduce behind the rows. Between stages of
a pipeline each rank sends a part of the sequence in both cases ("scatter/gather", Narayanan et al., SC 2021, 4.1).
"""

from __future__ import annotations

from typing import Any

from minitorch_dist import nn
from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor import parallel
from minitorch_dist.distributed.tensor.parallel.activations import enter
from minitorch_dist.distributed.tensor.placements import Placement, Replicate, Shard
from mtd.planning.experts import ExpertLayer
from mtd.planning.model_files import ModelSizes
from mtd.planning.transformer import TransformerPart


class Columns(parallel.ParallelStyle):
    """Each rank has some of the outputs. Unlike `ColwiseParallel` it lets the module around bring the inputs, once for
    several matrices."""

    def _apply(self, module: nn.Module, mesh: DeviceMesh) -> nn.Module:
        is_table = isinstance(module, nn.Embedding)
        self._cut(module, mesh, weight=Shard(1 if is_table else 0), bias=Shard(0))
        return module


class SummedRows(parallel.ParallelStyle):
    """Each rank has some of the inputs. Its outputs are summands, which somebody else adds up."""

    def _apply(self, module: nn.Module, mesh: DeviceMesh) -> nn.Module:
        self._cut(module, mesh, weight=Shard(1))
        return module


class Entered(parallel.ParallelStyle):
    """The first input is made whole, and its gradient is the sum over the ranks."""

    def __init__(self, has: Placement, length: int) -> None:
        self.has, self.length = has, length

    def _apply(self, module: nn.Module, mesh: DeviceMesh) -> nn.Module:
        group = mesh.get_group()

        def before(_: nn.Module, args: Any) -> Any:
            return (enter(args[0], group, self.has, self.length), *args[1:])

        module.register_forward_pre_hook(before)
        return module


def cut(part: TransformerPart, mesh: DeviceMesh, model: ModelSizes, sequence: bool) -> None:
    """Cut it in place."""
    between: Placement = Shard(1) if sequence else Replicate()
    entered = Entered(between, model.sequence)
    plan: dict[str, parallel.ParallelStyle] = {
        "attention": entered,
        "mlp": entered,
        "attention.query": Columns(),
        "attention.key": Columns(),
        "attention.value": Columns(),
        "attention.out": parallel.RowwiseParallel(output_layouts=between),
        "mlp.up": Columns(),
        "mlp.down": parallel.RowwiseParallel(output_layouts=between),
    }
    if model.is_gated:
        plan["mlp.gate"] = Columns()
    if sequence:
        plan |= {"norm1": parallel.SequenceParallel(), "norm2": parallel.SequenceParallel()}
    for layer in part.layers:
        of_layer = plan
        if isinstance(layer.mlp, ExpertLayer):  # its matrices are parts already
            layer.mlp.cut_over = mesh.get_group(), between
            of_layer = {name: style for name, style in plan.items() if not name.startswith("mlp.")}
            if layer.mlp.shared is not None:
                of_layer |= {"mlp.shared.gate": Columns(), "mlp.shared.up": Columns(), "mlp.shared.down": SummedRows()}
        parallel.parallelize_module(layer, mesh, of_layer, src_data_rank=None)
    ends: dict[str, parallel.ParallelStyle] = {}
    if part.begin is not None:
        ends |= {f"begin.{name}": Columns() for name, child in part.begin.named_children() if child is not None}
        ends["begin"] = parallel.PrepareModuleOutput(output_layouts=Shard(-1), desired_output_layouts=between)
    elif not sequence:
        ends[""] = parallel.PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    if part.logits is None:
        if not sequence:
            given = parallel.PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1))
            given._apply(part, mesh)
    else:
        if sequence:
            ends["norm"] = parallel.SequenceParallel()
        ends["logits"] = Columns()
        entered._apply(part.logits, mesh)
    parallel.parallelize_module(part, mesh, ends, src_data_rank=None)
