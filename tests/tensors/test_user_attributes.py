"""The `__dict__` of a tensor holds what its user wrote on it, and nothing of ours."""

from __future__ import annotations

import copy
import pickle

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import Shard, distribute_tensor
from minitorch_dist.launching import launch


def of_all_kinds() -> list[torch.Tensor]:
    leaf = torch.ones(2, 3, requires_grad=True)
    (leaf * 2).sum().backward()
    return [
        torch.ones(2), leaf, leaf * 2, leaf.detach(), leaf.view(6), leaf[0], leaf.data, *leaf.unbind(0),
        leaf.to(torch.float64), torch.nn.Linear(2, 2).weight,
        torch.nn.Parameter(), copy.copy(leaf), copy.deepcopy(leaf), pickle.loads(pickle.dumps(leaf)),
    ]  # fmt: skip


def test_nothing_of_ours_is_in_it() -> None:
    assert [vars(tensor) for tensor in of_all_kinds()] == [{}] * len(of_all_kinds())
    assert vars(torch.nn.Buffer(torch.ones(2))) == {"persistent": True}


def test_a_parameter_is_made_again_with_its_attributes() -> None:
    p = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    twin = type(p)(p.to("cpu"), **p.__dict__)
    assert type(twin) is torch.nn.Parameter and twin.tolist() == [1.0] * 3


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_what_a_user_wrote_on_it_goes_with_it(again: object) -> None:
    p = torch.ones(3, requires_grad=True)  # deepcopy of a Parameter drops them, as torch's does
    p.tag = ["mine"]
    assert vars(p) == {"tag": ["mine"]}
    twin = again(p)  # type: ignore[operator]
    assert vars(twin) == {"tag": ["mine"]} and twin.requires_grad and type(twin) is type(p)


def of_parts() -> None:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    part = distribute_tensor(torch.arange(6.0), mesh, [Shard(0)])
    assert vars(part) == vars(torch.nn.Parameter(part)) == {}
    assert copy.deepcopy(part).full_tensor().tolist() == part.full_tensor().tolist()
    with pytest.raises(TypeError, match=r"cannot pickle a DTensor.*to_local"):
        pickle.dumps(part)


@pytest.mark.parametrize("size", [1, 3])
def test_a_distributed_tensor_has_none_of_ours_either(size: int) -> None:
    launch(of_parts, size, "queue://", timeout=300)
