"""Lesson 12: the property is checked. Right ways to all-reduce must pass it, wrong ones must not."""

import exactly_once

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from mtd.course import all_reduces, lab, lamp
from mtd.course.property_trial import accepts, rejects, survivors
from mtd.course.scoring import score

EXAMPLES = 30

WRONG_SUMS = (
    all_reduces.tutorial_of_2019,
    all_reduces.plus_for_minus,
    all_reduces.remainder_forgotten,
    all_reduces.doubling_for_powers_only,
    all_reduces.forwards_its_accumulator,
)


@lamp("digits", star=1)
def digits():
    """A sum of labels says how often each rank is in it, for up to 9 ranks and 9 times."""
    for count in (5, 1, 0):
        for rank in (0, 1, 3):
            found = exactly_once.labels(rank, count)
            due = [(count + element) * exactly_once.BASE**rank for element in range(count)]
            assert is_same_row(found, due), (
                f"labels({rank}, {count}) is {found}, and should be {due}"
            )
    for size in range(1, 10):
        for times in (
            [1] * size,
            [rank % 3 for rank in range(size)],
            [9 - rank for rank in range(size)],
        ):
            total = sum(n * exactly_once.labels(rank, 1)[0] for rank, n in enumerate(times))
            read = exactly_once.counts(total, size)
            assert is_same_row(read, times), (
                f"ranks 0, 1, … are in the sum {total} {times} times, and counts() says {read}"
            )


def is_same_row(found, due):
    """Also of a tensor or a tuple; a single number is no row."""
    try:
        return list(found) == due
    except TypeError:
        return False


def demand_digits():
    """With wrong labels all sums look wrong, and `once` is accused, which is given."""
    try:
        digits()
    except Exception:
        raise AssertionError("digits is out, and this lamp needs it") from None


@lamp("in words", star=1)
def in_words():
    """The words of `once` about a sum with one rank too many and another missing."""
    demand_digits()
    try:
        exactly_once.once(seventh_element, 5, 9)
    except AssertionError as error:
        said = str(error)
    else:
        raise AssertionError(
            "once() finds nothing where element 7 on rank 1 has rank 3 twice and lacks rank 0"
        )
    due = "element 7 on rank 1 has rank 3 twice and lacks rank 0"
    assert said == due, f"once() says {said!r} where it should say {due!r}"


def seventh_element(tensor, op=dist.ReduceOp.SUM):
    label = int(tensor[7].item())
    all_reduces.ring(tensor, op)
    others = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(others, torch.tensor([label]))
    if dist.get_rank() == 1:
        tensor[7] += others[3].item() - others[0].item()


@lamp("accepts right ones", star=1)
def accepted():
    """Rings both ways, a tree, doubling, halving: all of them are right."""
    demand_digits()
    accepts(exactly_once.property_of_all_reduce, all_reduces.RIGHT, EXAMPLES)


@lamp("wrong sums", star=2)
def wrong_sums():
    """Five of the ten give sums in which somebody is missing or counted twice."""
    demand_rejected(*WRONG_SUMS)


@lamp("places", star=2)
def places():
    """It finds right sums that lie in the wrong places."""
    demand_rejected(all_reduces.swaps_finished_chunks)


@lamp("arrivals", star=3)
def arrivals():
    """It finds one that is right only as long as messages arrive in one order."""
    demand_digits()
    exactly_once.once(
        all_reduces.by_order_of_arrival, 5, 5
    )  # in the order of a calm network it is right
    demand_rejected(all_reduces.by_order_of_arrival)


def demand_rejected(*wrong):
    rejects(exactly_once.property_of_all_reduce, wrong, EXAMPLES)


@lamp("nine of ten", star=3)
def nine_of_ten():
    """At least nine of the ten wrong ones are found."""
    lived = survivors(exactly_once.property_of_all_reduce, all_reduces.WRONG, EXAMPLES)
    alive = [said for kind in lived for said in kind]
    told = "".join(f"\n    {said}" for said in alive)
    assert len(alive) <= 1, f"it finds {10 - len(alive)} of 10, and these live:{told}"


def found_by_two_ranks():
    """Of the ten, by adding what two ranks have."""

    def two(all_reduce):
        results, _ = exactly_once.play(all_reduce, [[1.0, 2.0], [10.0, 20.0]])
        assert results == [[11.0, 22.0]] * 2

    return len(score(two, (), all_reduces.WRONG).rejected)


def a_sum():
    return sum(exactly_once.labels(rank, 1)[0] for rank in (0, 2, 2))


def contents():
    """Three ranks with one of the wrong ones: your labels find it, and here is the cell where it begins."""
    return lab.grid(all_reduces.forwards_its_accumulator)


def picture():
    """The ranks in each element, of a right one and of two that are not: one digit for each rank."""
    lines = ["how often ranks 0, 1, 2, 3 are in each element, each of which has the label 1", ""]
    for one in (
        all_reduces.ring,
        all_reduces.remainder_forgotten,
        all_reduces.forwards_its_accumulator,
    ):
        lines += [
            f"{one.__name__.replace('_', ' ')}",
            "          " + "   ".join(f"{e:<4}" for e in range(6)),
        ]
        given = [6 * exactly_once.labels(rank, 1) for rank in range(4)]
        results, _ = exactly_once.play(one, given)
        for rank, numbers in enumerate(results):
            cells = ["".join(map(str, exactly_once.counts(int(total), 4))) for total in numbers]
            marks = [" " if cell == "1111" else "✗" for cell in cells]
            lines.append(
                f"  rank {rank}  " + "  ".join(f"{c}{m}" for c, m in zip(cells, marks)).rstrip()
            )
        lines.append("")
    return "\n".join(lines[:-1])
