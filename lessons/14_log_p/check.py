"""Lesson 14: any number of ranks, in about log2 P rounds, and not for more bytes than it has to be."""

import inspect

import doubling
from exactly_once import in_words

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.testing import check_collective
from mtd.course import MeasuredCost, lab, lamp, training

BASE = 8  # of the labels: 17 digits of it fit into 64 bits
SIZES = range(1, 18)


@lamp("numbers", star=1)
def numbers():
    """1 to 17 ranks: a power of two of them have numbers, 0, 1, 2, …"""
    for size in SIZES:
        given = {rank: doubling.number_of(rank, size) for rank in range(size)}
        swapping = {rank: number for rank, number in given.items() if number is not None}
        power = 1 << (size.bit_length() - 1)
        assert sorted(swapping.values()) == list(range(power)), (
            f"{size} ranks: {power} of them swap, under the numbers 0 … {power - 1}, and the others have None; "
            f"number_of gives {list(given.values())}"
        )


@lamp("ranks", star=1)
def ranks():
    """rank_of leads back from each number."""
    for size in SIZES:
        given = {rank: doubling.number_of(rank, size) for rank in range(size)}
        for rank, number in given.items():
            if number is None:
                continue
            found = doubling.rank_of(number, size)
            assert found == rank, (
                f"{size} ranks: number_of({rank}, {size}) is {number}, and rank_of({number}, {size}) does not lead back: "
                f"it is {found}. They have to agree which rank of a pair swaps"
            )


def helper(name, *parameters):
    """A function of the file, where it has one like ours. A whole file of one's own need not."""
    found = getattr(doubling, name, None)
    is_like_ours = found and (*inspect.signature(found).parameters,) == parameters
    return found if is_like_ours else None


@lamp("fold in", star=1)
def folds_in():
    """1 to 17 ranks: those with a number then hold what all gave, each once."""
    fold = helper("fold_in", "tensor", "combine")
    for size in SIZES if fold else ():
        held = sim.run(folded_in, size, (fold,)).results
        times = [sum(each // BASE**rank % BASE for each in held) for rank in range(size)]
        assert times == [1] * size, (
            f"{lab.ranks(size)}: after fold_in those with a number hold together {in_words(times)}"
        )


def folded_in(fold):
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.full((1,), BASE**rank, dtype=torch.int64)
    fold(tensor, torch.add)
    return 0 if doubling.number_of(rank, size) is None else tensor.item()


@lamp("fold out", star=1)
def folds_out():
    """1 to 17 ranks: those without a number get the result from one that has it."""
    fold = helper("fold_out", "tensor")
    for size in SIZES if fold else ():
        held = sim.run(folded_out, size, (fold,)).results
        assert held == [7] * size, (
            f"{lab.ranks(size)}: those with a number have 7, the others 0. After fold_out they have {held}, expected 7 on all"
        )


def folded_out(fold):
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.full((1,), 7 * (doubling.number_of(rank, size) is not None))
    fold(tensor)
    return tensor.item()


@lamp("correct", "exactly once", "never stuck", "frozen")
def doubles():
    """Recursive doubling; 1 to 9 ranks; sends that wait and sends that do not."""
    return check_collective(doubling.all_reduce)


@lamp("halves", star=2)
def halves():
    """The same of Rabenseifner's, which stands on the same four functions."""
    said = check_collective(doubling.rabenseifner).complaints
    for name in ("correct", "exactly once", "never stuck", "frozen"):
        assert name not in said, f"{name}: {said[name]}"


@lamp("any P", star=2)
def any_number_of_ranks():
    """Both, with 1 to 17 ranks, by labels: each rank is once in each sum, in this order of arrival."""
    for size in SIZES:
        for all_reduce in (doubling.all_reduce, doubling.rabenseifner):
            for count in (1, size + 1):
                once(all_reduce, size, count)


def once(all_reduce, size, count):
    def program():
        tensor = torch.full((count,), BASE ** dist.get_rank(), dtype=torch.int64)
        all_reduce(tensor)
        return tensor.tolist()

    for rank, totals in enumerate(sim.run(program, size, events=20_000).results):
        for element, total in enumerate(totals):
            times = [total // BASE**other % BASE for other in range(size)]
            assert times == [1] * size, (
                f"{all_reduce.__name__}, {size} ranks: element {element} on rank {rank} {in_words(times)}"
            )


@lamp("trains", star=2)
def yours_runs_ddp():
    """1, 2, 3, 5 and 6 ranks end with the weights of one, bit for bit."""
    training.with_ddp(doubling.all_reduce, sizes=(1, 2, 3, 5, 6))


@lamp("rounds")
def rounds():
    """Messages that follow each other: at most ⌊log2 P⌋, and two more to fold in and out; Rabenseifner's twice as many, and the two."""
    return worst(rounds_of(each, size) for each in (1, 2) for size in SIZES)


def rounds_of(times, size):
    all_reduce = doubling.all_reduce if times == 1 else doubling.rabenseifner
    least = times * (size.bit_length() - 1) + 2 * folds(size)
    found = lab.in_turn(all_reduce, size, 32)
    where = f"{all_reduce.__name__}, {size} ranks"
    return MeasuredCost(found, least, unit=" messages in turn", where=where, least_of="its bound")


@lamp("bytes")
def bytes_sent():
    """Rabenseifner's: 2 (P'-1)/P' n among the P' that swap, and n more from those that fold out."""
    return worst(bytes_of(size) for size in SIZES)


def bytes_of(size):
    power = 1 << (size.bit_length() - 1)
    found = lab.meter(doubling.rabenseifner, size, 16 * power)
    least = 8 * (2 * (power - 1) * 16 + folds(size) * 16 * power)
    return MeasuredCost(
        found.bytes, least, unit=" bytes", where=f"rabenseifner, {size} ranks, {16 * power} numbers"
    )


def folds(size):
    return size & (size - 1) != 0


def worst(costs):
    return max(costs, key=lambda cost: cost.ratio)


def rounds_of_seventeen():
    return lab.meter(doubling.all_reduce, 17, 1).rounds


def bytes_of_eight():
    return lab.meter(doubling.rabenseifner, 8, 16).bytes


FILLS = {
    "all_reduce": (doubling.all_reduce, "all_reduce", 5),
    "halves": (doubling.rabenseifner, "all_reduce", 5),
}


def picture():
    """Five ranks: rank 0 folds in, four swap, rank 0 gets the sum."""
    return lab.scene(lambda: doubling.all_reduce(torch.ones(1)), 5)
