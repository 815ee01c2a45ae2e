"""A grid of ranks and the groups of its lines."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import DeviceMesh, init_device_mesh
from minitorch_dist.launching import launch


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (3, 2), (2, 2, 2)])
def test_every_line_is_a_group(shape: tuple[int, ...]) -> None:
    names = ("pp", "dp", "tp")[-len(shape) :]

    def rank() -> None:
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
        me = dist.get_rank()
        at = mesh.get_coordinate()
        assert at is not None
        assert mesh.mesh[at].item() == me == mesh.get_rank()
        assert mesh.size() == dist.get_world_size()
        for axis, name in enumerate(names):
            line = mesh.mesh[tuple(slice(None) if n == axis else at[n] for n in range(len(shape)))]
            assert mesh[name].mesh.tolist() == line.tolist()
            assert mesh[name].get_local_rank() == mesh.get_local_rank(name) == at[axis]
            assert mesh.size(name) == shape[axis]
            total = mt.tensor([me])
            dist.all_reduce(total, group=mesh.get_group(name))
            assert total.item() == sum(line.tolist())
            assert mesh[name].get_group() is mesh.get_group(axis)
        assert len(mesh.get_all_groups()) == len(shape)

    size = mt.tensor(shape).prod().item()
    launch(rank, int(size))


def test_parts_of_a_mesh() -> None:
    def rank() -> list[Any]:
        mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))
        part = mesh["pp", "dp"]
        assert part.shape == (2, 2)
        assert part["dp"] == mesh["dp"]
        assert mesh["pp", "dp", "tp"] is mesh
        return [part.mesh.tolist(), repr(mesh["tp"])]

    found = launch(rank, 8)
    assert found[3] == [[[1, 3], [5, 7]], "DeviceMesh((tp=2), 'cpu', ranks=[2, 3])"]


def test_a_mesh_around_groups_that_exist() -> None:
    def rank() -> None:
        mesh = DeviceMesh.from_group(dist.group.WORLD, "cpu")
        assert mesh.mesh.tolist() == [0, 1, 2]
        assert hash(mesh) == hash(init_device_mesh("cpu", (3,)))
        assert mesh == init_device_mesh("cpu", (3,))
        assert mesh != 3

    launch(rank, 3)


def test_refusals() -> None:
    def rank() -> None:
        mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
        for error, match, act in (
            (KeyError, r"\('x',\) are not some of \('dp', 'tp'\)", lambda: mesh["x"]),
            (KeyError, "ascending order", lambda: mesh["tp", "dp"]),
            (KeyError, "'q' does not exist", lambda: mesh.get_group("q")),
            (IndexError, "mesh dimension 2 of a mesh with 2", lambda: mesh.size(2)),
            (RuntimeError, "`mesh_dim` needs to be specified", mesh.get_group),
            (RuntimeError, "`mesh_dim` needs to be specified", mesh.get_local_rank),
            (RuntimeError, "bigger than default world size 2, but found 6", lambda: init_device_mesh("cpu", (3, 2))),
            (RuntimeError, "must be unique", lambda: init_device_mesh("cpu", (2, 1), mesh_dim_names=("a", "a"))),
            (RuntimeError, "same length", lambda: init_device_mesh("cpu", (2, 1), mesh_dim_names=("a",))),
            (RuntimeError, "Device type with index", lambda: init_device_mesh("cpu:0", (2,))),
            (RuntimeError, "duplicate", lambda: DeviceMesh("cpu", [0, 0])),
            (RuntimeError, "without mesh_dim_names", lambda: init_device_mesh("cpu", (2,))["x"]),
        ):
            with pytest.raises(error, match=match):
                act()

    launch(rank, 2)
