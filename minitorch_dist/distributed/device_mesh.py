"""Ranks in a grid: for each of its lines a group.

    init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))

             tp ─►                     mesh["tp"]   this rank's row:     [4, 5, 6, 7]
        dp   0  1  2  3                mesh["dp"]   this rank's column:  [1, 5]
         ▼   4 (5) 6  7                mesh["dp", "tp"]                  both

Two kinds of parallelism at once are two axes: gradients are averaged along one, and layers are cut
along the other. All ranks make the same groups in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from minitorch_dist.distributed import distributed_c10d, world
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.inventory.not_offered import tells_what_is_gone
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Ranks = np.ndarray[Any, np.dtype[np.int32]]


@tells_what_is_gone
class DeviceMesh:
    """A grid of ranks, or (from `mesh[...]`) the part of one in which this rank is.

    Args:
        device_type: "cpu", or "cuda" for simulated devices.
        mesh: The ranks, as nested lists or a tensor.
        mesh_dim_names: A name for each axis.

    Example:
        >>> def program():
        ...     mesh = dist.device_mesh.DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))
        ...     return mesh.get_coordinate(), mesh["tp"].size()
        >>> sim.run(program, 4).results[2]
        ((1, 0), 2)
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _init_backend: bool = True,
        _groups: Sequence[ProcessGroup] | None = None,
        _root: tuple[DeviceMesh, tuple[int, ...]] | None = None,
    ) -> None:
        ranks = np.asarray(mesh.array if isinstance(mesh, Tensor) else mesh, np.int32)
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names
        self._ranks: Ranks = ranks
        if mesh_dim_names is not None and len({*mesh_dim_names}) != len(mesh_dim_names):
            raise RuntimeError(f"each name of mesh_dim_names must be unique, but got {mesh_dim_names}")
        if mesh_dim_names is not None and len(mesh_dim_names) != ranks.ndim:
            raise RuntimeError(f"mesh_dim_names must have the same length as the shape {ranks.shape}: {mesh_dim_names}")
        if len(np.unique(ranks)) != ranks.size:
            raise RuntimeError(f"Mesh cannot contain duplicate values, but found {ranks.tolist()}")
        self._root, self._dims = _root or (self, tuple(range(ranks.ndim)))
        world = distributed_c10d.get_world_size()
        if ranks.size > world:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world}, but found {ranks.size} ranks!"
            )
        self._rank = distributed_c10d.get_rank()
        found = np.argwhere(ranks == self._rank)
        self._coordinate = tuple(int(n) for n in found[0]) if len(found) else None
        self._groups = list(_groups) if _groups is not None else []
        if _groups is None and _init_backend:
            self._groups = self._make_groups(world)

    def device_for(self, own: devices.device) -> devices.device:
        """Where this rank keeps its part of what lies on `own`: there; but on a mesh of simulated devices what is
        on the CPU goes to the rank's present one."""
        if own is devices.CPU and self.device_type == "cuda" and devices.count():
            return devices.resolve("cuda")
        return own

    def _make_groups(self, world: int) -> list[ProcessGroup]:
        """Along each axis the group of this rank's line. Every rank makes all lines' groups."""
        groups: list[Any] = []
        for axis, name in enumerate(self._names()):
            lines = np.moveaxis(self._ranks, axis, -1).reshape(-1, self._ranks.shape[axis])
            if lines.shape == (1, world) and np.array_equal(lines[0], np.arange(world)):
                groups.append(distributed_c10d._get_default_group())
            else:
                own, _ = distributed_c10d.new_subgroups_by_enumeration(lines.tolist(), group_desc=f"mesh_{name}")
                groups.append(own)
        return groups

    def _names(self) -> tuple[str, ...]:
        return self.mesh_dim_names or tuple(f"dim_{n}" for n in range(self._ranks.ndim))

    # ------------------------------------------------------------------------------------ the grid

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor of the mesh's shape."""
        return base.new(Tensor, self._ranks.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._ranks.shape)

    @property
    def ndim(self) -> int:
        return int(self._ranks.ndim)

    def size(self, mesh_dim: int | str | None = None) -> int:
        return prod(self.shape) if mesh_dim is None else self.shape[self._axis(mesh_dim)]

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return self._rank

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is; None if it is not in the mesh."""
        at = self._coordinate
        if at is None or (trace := world.current().trace) is None:
            return at
        places = [self._places(axis) for axis in range(self.ndim)]
        found: tuple[int, ...] = trace.coordinates(at, places)
        return found

    def _places(self, axis: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Of each rank of the world its place along an axis; -1 where it is not in the mesh."""
        found = np.full(distributed_c10d.get_world_size(), -1, np.int64)
        whole, dim = self._root._ranks, self._dims[axis]
        found[whole.reshape(-1)] = np.indices(whole.shape)[dim].reshape(-1)
        return found

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along an axis."""
        if self._coordinate is None:
            raise RuntimeError(f"rank {self._rank} is not in {self!r}")
        axis = self._axis(mesh_dim)
        at, trace = self._coordinate[axis], world.current().trace
        if trace is not None:
            (at,) = trace.coordinates((at,), [self._places(axis)])
        return at

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The ranks of this rank's line along an axis."""
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._groups[self._axis(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        return [self.get_group(axis) for axis in range(self.ndim)]

    def _axis(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"`mesh_dim` needs to be specified for one of the {self.ndim} axes of {self!r}")
            return 0
        if isinstance(mesh_dim, int):
            if not -self.ndim <= mesh_dim < self.ndim:
                raise IndexError(f"mesh dimension {mesh_dim} of a mesh with {self.ndim}")
            return mesh_dim % self.ndim
        if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
            raise KeyError(
                f"Mesh dimension '{mesh_dim}' does not exist. Available mesh dimensions are: "
                f"mesh_dim_names={self.mesh_dim_names}"
            )
        return self.mesh_dim_names.index(mesh_dim)

    # ----------------------------------------------------------------------------------- parts of it

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part along these axes in which this rank is. No new groups are made."""
        asked = (names,) if isinstance(names, str) else tuple(names)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        axes = [axis for axis, name in enumerate(self.mesh_dim_names) if name in asked]
        if tuple(self.mesh_dim_names[axis] for axis in axes) != asked:
            raise KeyError(f"{asked} are not some of {self.mesh_dim_names}, in ascending order and each once")
        if len(axes) == self.ndim:
            return self
        at = self._coordinate or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if n in axes else at[n] for n in range(self.ndim))]
        return DeviceMesh(
            self.device_type,
            part,
            mesh_dim_names=asked,
            _groups=[self._groups[axis] for axis in axes] if self._groups else [],
            _root=(self._root, tuple(self._dims[axis] for axis in axes)),
        )

    def joined(self, other: DeviceMesh) -> tuple[DeviceMesh, list[int]]:
        """The part of the whole mesh along the axes of both, and which of its axes those are."""
        dims, root = [*self._dims, *other._dims], self._root
        if other._root is not root or len(set(dims)) < len(dims) or root.mesh_dim_names is None:
            raise ValueError(
                f"FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh, with an "
                f"axis for each, but got {self!r} and {other!r}. Make one by init_device_mesh(…, "
                'mesh_dim_names=("dp", "tp")), and take mesh["dp"] and mesh["tp"]'
            )
        taken = sorted(dims)
        joint = root[tuple(root.mesh_dim_names[dim] for dim in taken)]
        return joint, [taken.index(dim) for dim in dims]

    @staticmethod
    def from_group(
        group: ProcessGroup, device_type: str, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """The line of a group that exists. PyTorch makes meshes of several groups, too."""
        ranks = distributed_c10d.get_process_group_ranks(group)
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        return (
            self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and np.array_equal(self._ranks, other._ranks)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._ranks.tobytes()))

    def __repr__(self) -> str:
        if self.mesh_dim_names:
            sizes = ", ".join(f"{n}={s}" for n, s in zip(self.mesh_dim_names, self.shape, strict=True))
        else:
            sizes = ", ".join(map(str, self.shape))
        return f"DeviceMesh(({sizes}), '{self.device_type}', ranks={self._ranks.tolist()})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in a grid, the last axis fastest. Joins the world first if that is still to do.

    Args:
        device_type: "cpu", or "cuda" for simulated devices.
        mesh_shape: The size of each axis; their product is the number of ranks.
        mesh_dim_names: A name for each axis.
        backend_override: Accepted as in torch; it changes nothing.

    Returns:
        The mesh; `mesh["name"]` is the part of it along one axis.

    Raises:
        RuntimeError: The sizes do not multiply to the number of ranks.

    Example:
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        ...     return mesh.get_local_rank("dp"), mesh.get_local_rank("tp")
        >>> sim.run(program, 4).results
        [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    if not distributed_c10d.is_initialized():
        distributed_c10d.init_process_group()
    ranks = np.arange(prod(mesh_shape), dtype=np.int32).reshape(mesh_shape)
    names = None if mesh_dim_names is None else tuple(mesh_dim_names)
    return DeviceMesh(device_type, ranks, mesh_dim_names=names)
