"""A whole model cut by a plan: which module in which style."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatch

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.parallel.styles import ParallelStyle
from minitorch_dist.nn.modules.module import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Apply a style to `module`, or the styles of a plan to the modules below it, in place.

    Args:
        module: The module.
        device_mesh: A mesh of one dimension.
        parallelize_plan: A style, or styles by dotted names; each part may be a pattern: `"layers.*.w1"`.
        src_data_rank: The rank whose values count; None takes every rank's own.

    Returns:
        The module.

    Example:
        >>> from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     torch.manual_seed(0)
        ...     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        ...     alone = model(torch.ones(1, 4)).detach()
        ...     parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        ...     return torch.allclose(model(torch.ones(1, 4)), alone, atol=1e-6)
        >>> sim.run(program, 2).results
        [True, True]
    """
    if device_mesh is None:
        raise ValueError("parallelize_module needs the device_mesh whose ranks share the layers")
    if device_mesh.ndim != 1:
        raise ValueError(
            f'Tensor parallelism cuts along one axis, but the mesh has {device_mesh.ndim}: pass mesh["tp"]'
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the "
            "moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, device_mesh)
    for path, style in parallelize_plan.items():
        found = _matching(module, path.split(".")) if path else [module]
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching it "
                f"under {type(module).__name__}",
                stacklevel=2,
            )
        for each in found:
            style.src_data_rank = src_data_rank
            style._apply(each, device_mesh)
    return module


def _matching(module: Module, path: list[str]) -> list[Module]:
    if not path:
        return [module]
    return [
        found
        for name, child in module.named_children()
        if fnmatch(name, path[0])
        for found in _matching(child, path[1:])
    ]
