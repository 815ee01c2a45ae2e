"""Real torch over our wires gives what it gives over gloo, and what one rank gives."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
import torch.distributed as dist

from minitorch_dist.pytorch import tensors_as_arrays as arrays
from tests.pytorch import programs
from tests.pytorch.ranks import RankFailed, on_ranks

WIRES = ["tcp", "file"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_collectives_give_what_gloo_gives(size: int, wire: str) -> None:
    assert on_ranks(programs.collectives, size, wire=wire) == on_ranks(programs.collectives, size, backend="gloo")


@pytest.mark.parametrize("size", [2, 3])
def test_messages_give_what_gloo_gives(size: int) -> None:
    assert on_ranks(programs.messages, size) == on_ranks(programs.messages, size, backend="gloo")


@pytest.mark.parametrize("size", [2, 3])
def test_ddp_gives_gloos_losses_to_the_last_digit(size: int) -> None:
    ours = on_ranks(programs.train_ddp, size, wire="file")
    if size == 2:  # of three numbers the order of additions is another
        assert ours == on_ranks(programs.train_ddp, size, backend="gloo")
    torch.testing.assert_close(ours[0], programs.train_alone(), rtol=1e-5, atol=1e-7)


def test_fully_shard_gives_what_one_rank_gives() -> None:
    for losses in on_ranks(programs.train_fsdp, 3):
        torch.testing.assert_close(losses, programs.train_alone(), rtol=1e-5, atol=1e-7)


def test_a_tensor_that_was_sent_can_still_be_resized_as_plain_fsdp_does() -> None:
    for losses in on_ranks(programs.train_plain_fsdp, 2):
        torch.testing.assert_close(losses, programs.train_alone(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool])
def test_a_tensor_whose_array_was_taken_can_be_resized(dtype: torch.dtype) -> None:
    tensor = torch.zeros(4, dtype=dtype)
    arrays.array_of(tensor)
    storage = tensor.untyped_storage()
    storage.resize_(0)
    storage.resize_(4 * tensor.element_size())
    assert len(storage) == 4 * tensor.element_size()


def _column() -> list[list[float]]:
    table = torch.zeros(4, 3)
    table[:, 1] = torch.arange(4.0) + dist.get_rank()
    dist.all_reduce(table[:, 1])
    other = torch.zeros(3, 4).T
    dist.broadcast(other if dist.get_rank() else other + 7, 0)
    return [table.tolist(), other.tolist()]


def test_a_column_of_a_table_is_reduced_which_gloo_gets_wrong_in_silence() -> None:
    for table, other in on_ranks(_column, 3)[1:]:
        assert table == [[0.0, 3.0 * row + 3.0, 0.0] for row in range(4)]
        assert other == [[7.0] * 3] * 4


def _uneven() -> tuple[int, list[list[float]]]:
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = [torch.zeros(other + 1) for other in range(size)]
    dist.all_gather(parts, torch.full((rank + 1,), float(rank)))
    return size, [part.tolist() for part in parts]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_gather_of_tensors_of_different_sizes_which_gloo_refuses(size: int) -> None:
    for of, parts in on_ranks(_uneven, size):
        assert parts == [[float(rank)] * (rank + 1) for rank in range(of)]


def _average() -> list[list[float]]:
    rank, size = dist.get_rank(), dist.get_world_size()
    mean = torch.full((3,), float(rank))
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    scaled = torch.ones(2)
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
    return [mean.tolist(), scaled.tolist(), [(size - 1) / 2] * 3, [size / 2] * 2]


def _average_of_whole_numbers() -> list[Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    own, parts = torch.tensor([7, -7, 2]) + rank, torch.arange(size) * 5 - rank
    everywhere, at_one, mine = own.clone(), own.clone().to(torch.int8), torch.zeros(1, dtype=torch.int64)
    dist.all_reduce(everywhere, dist.ReduceOp.AVG)
    dist.reduce(at_one, size - 1, dist.ReduceOp.AVG)
    programs.reduce_scatter_single(mine, parts, dist.ReduceOp.AVG)
    sums = torch.stack([torch.tensor([7, -7, 2]) + other for other in range(size)]).sum(0)
    wanted = (sums / size).trunc().long()
    part = (torch.arange(size) * 5 - torch.arange(size)[:, None]).sum(0)[rank] / size
    assert torch.equal(everywhere, wanted)
    assert torch.equal(at_one.long(), wanted if rank == size - 1 else own)
    assert int(mine) == int(part)
    return [rank]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_averages_of_whole_numbers_are_rounded_towards_zero_as_nccls_are(size: int) -> None:
    assert on_ranks(_average_of_whole_numbers, size) == [[rank] for rank in range(size)]


def _average_of_bools() -> None:
    dist.all_reduce(torch.tensor([True]), dist.ReduceOp.AVG)


def test_an_average_of_bools_is_refused() -> None:
    with pytest.raises(RankFailed, match="an average of bool"):
        on_ranks(_average_of_bools, 1)


def test_average_and_premul_sum_which_gloo_has_not() -> None:
    for mean, scaled, wanted_mean, wanted_scaled in on_ranks(_average, 3):
        assert mean == wanted_mean and scaled == wanted_scaled


def _mismatch() -> None:
    if dist.get_rank() == 1:
        dist.all_reduce(torch.ones(3))
    dist.barrier()


def test_a_mismatch_names_ranks_and_the_users_lines_and_is_torchs_error() -> None:
    with pytest.raises(RankFailed) as failed:
        on_ranks(_mismatch, 2)
    assert "all_reduce" in str(failed.value) and "test_wires.py:" in str(failed.value)
    assert "torch.distributed.DistBackendError" in failed.value.kinds
    assert "minitorch_dist.distributed.exceptions.DistMismatch" in failed.value.kinds


def _leave_early() -> None:
    if dist.get_rank() == 1:
        os._exit(0)
    dist.all_reduce(torch.ones(2))


def test_a_rank_that_is_gone_is_named_at_once() -> None:
    with pytest.raises(RankFailed, match="rank 1 is lost"):
        on_ranks(_leave_early, 2)


def _coalesced_and_functional() -> list[list[float]]:
    from torch.distributed import _functional_collectives as functional

    rank, size, world = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    own = torch.ones(2) * (rank + 1)
    before_213 = functional.all_gather_tensor, functional.reduce_scatter_tensor
    gathered = getattr(functional, "all_gather_single", before_213[0])(own, 0, world)
    part = getattr(functional, "reduce_scatter_single", before_213[1])(torch.ones(2 * size), "sum", 0, world)
    added = functional.all_reduce(own, "sum", world)
    sparse = torch.sparse_coo_tensor([[rank]], [float(rank + 1)], (size,), check_invariants=True)
    dist.all_reduce(sparse)
    return [gathered.tolist(), part.tolist(), added.tolist(), sparse.to_dense().tolist()]


@pytest.mark.parametrize("size", [1, 3])
def test_functional_collectives_and_sparse_tensors(size: int) -> None:
    ranks = list(range(1, size + 1))
    for gathered, part, added, sparse in on_ranks(_coalesced_and_functional, size):
        assert gathered == [float(rank) for rank in ranks for _ in range(2)]
        assert part == [float(size)] * 2
        assert added == [float(sum(ranks))] * 2
        assert sparse == [float(rank) for rank in ranks]


def _abort() -> None:
    group = dist.new_group([0, 1])
    if dist.get_rank() == 1:
        group.abort()
    else:
        dist.all_reduce(torch.ones(2), group=group)


def test_an_abort_ends_what_the_others_wait_for() -> None:
    with pytest.raises(RankFailed, match="the process group was aborted"):
        on_ranks(_abort, 2)


def _beside_gloo() -> list[float]:
    both, own = dist.new_group([0, 2], backend="mtd"), dist.new_group([1], backend="mtd")
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=own if dist.get_rank() == 1 else both)
    return [float(tensor)]


def test_a_group_of_ours_beside_gloos_is_a_world_of_its_ranks() -> None:
    assert on_ranks(_beside_gloo, 3, backend="gloo") == [[2.0], [1.0], [2.0]]


def test_odd_tensors_become_arrays_of_the_same_memory() -> None:
    """A plain tensor goes the short way, and every other the long one, to the same array."""
    plain = torch.arange(6.0).reshape(2, 3)
    odd = [plain, plain.T, plain[:, 1], plain[:0], torch.nn.Parameter(plain), plain.half(), plain > 2, plain[0, 0]]
    for tensor in odd:
        array = arrays.array_of(tensor)
        simple = arrays._array_of(tensor)
        assert (array.shape, array.strides, array.dtype) == (simple.shape, simple.strides, simple.dtype)
        assert array.ctypes.data == simple.ctypes.data == tensor.data_ptr() or not tensor.numel()
    for wrong in (plain.to("meta"), plain.to_sparse()):
        with pytest.raises(RuntimeError, match=r"pass tensor\.cpu\(\)|pass tensor\.to_dense\(\)"):
            arrays.array_of(wrong)
