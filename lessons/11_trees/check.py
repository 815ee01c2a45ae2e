"""Lesson 11: a tree for any root and any number of ranks, as low as can be, and in the order of the ranks."""

import itertools

import tree

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import bounds, proof
from minitorch_dist.distributed.schedules.links import COUNTING
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Receive, Send
from minitorch_dist.testing import check_collective
from mtd.course import MeasuredCost, lab, lamp

SIZES = (1, 2, 3, 5, 6, 8)


WORLDS = [(size, root) for size in range(1, 34) for root in range(size)]


@lamp("speaker", star=1)
def speakers():
    """Blocks of 1, 2, 4, 8, 16 and 32, every rank in them, and roots within and outside. A whole file of one's own need not have it."""
    speaker = getattr(tree, "speaker", None)
    if speaker is None:
        return
    for length, rank, root in itertools.product((1, 2, 4, 8, 16, 32), range(33), range(33)):
        block = range(rank - rank % length, rank - rank % length + length)
        found, due = speaker(rank, length, root), root if root in block else block[0]
        assert found == due, (
            f"root {root}: for the block of ranks {block[0]} to {block[-1]} rank {found} speaks, expected {due}"
        )


@lamp("parent", star=1)
def parents():
    """1 to 33 ranks, every root: nobody is above the root, and from each other rank one gets to the root."""
    for size, root in WORLDS:
        where = f"{lab.ranks(size)}, root {root}"
        above = [tree.parent(rank, size, root) for rank in range(size)]
        assert above[root] is None, (
            f"{where}: the root's parent is {above[root]!r}, and should be None: nobody is above it"
        )
        for rank in range(size):
            assert rank == root or above[rank] in range(size), (
                f"{where}: rank {rank} reports to {above[rank]}, and is not the root"
            )
            way = [rank]
            while way[-1] != root and len(way) <= size:
                way.append(above[way[-1]])
            assert way[-1] == root, (
                f"{where}: from rank {rank} up it goes {way[:5]} …, never to the root"
            )


@lamp("children", star=1)
def children():
    """The same trees from above: each rank has those that report to it, once each."""
    for size, root in WORLDS:
        children_of(size, root)


def children_of(size, root):
    where = f"{lab.ranks(size)}, root {root}"
    above = [tree.parent(rank, size, root) for rank in range(size)]
    below = [tree.children(rank, size, root) for rank in range(size)]
    for rank, found in enumerate(below):
        assert isinstance(found, list), (
            f"{where}: children({rank}, {size}, {root}) is {found!r}, not a list"
        )
    for rank in range(size):
        for child in below[rank]:
            assert child in range(size), (
                f"{where}: rank {rank} has a child {child}; there is no such rank"
            )
            assert above[child] == rank, (
                f"{where}: rank {rank} has rank {child} among its children {below[rank]}, but rank {child} "
                f"reports to {above[child]}"
            )
        if rank != root:
            times = below[above[rank]].count(rank)
            assert times == 1, (
                f"{where}: rank {rank} reports to rank {above[rank]}, whose children "
                f"{below[above[rank]]} have it {times} times"
            )


@lamp("correct", "exactly once", "never stuck", "frozen")
def reduces():
    """Sums at the last rank; 1 to 9 ranks; sends that wait and sends that do not."""
    return check_collective(tree.reduce, "reduce")


@lamp("everybody", star=1)
def broadcasts():
    """The last rank's tensor, on all of 1 to 9 ranks."""
    verdict = check_collective(tree.broadcast, "broadcast")
    assert verdict, "; ".join(verdict.complaints.values())


@lamp("rank order", star=2)
def in_the_order_of_the_ranks():
    """Strings joined end to end: not the same in another order. Every root."""
    for size in SIZES:
        for root in range(size):
            word = sim.run(spelled, size, (root,)).results[root]
            due = alphabet(size)
            assert word == due, (
                f"{size} ranks, root {root}: rank 0 gives 'a', rank 1 'b', …, and {word!r} comes out, "
                f"which in the order of the ranks is {due!r}"
            )


def alphabet(size):
    return "".join(chr(ord("a") + rank) for rank in range(size))


def spelled(root):
    """Rank 0 gives "a", rank 1 "b", …; a string is a tensor of letters, zeros at its end."""
    letters = torch.zeros(dist.get_world_size(), dtype=torch.uint8)
    letters[0] = ord("a") + dist.get_rank()
    tree.reduce(letters, root, joined)
    return "".join(chr(letter) for letter in letters.tolist() if letter)


def joined(left, right):
    both = [letter for letter in left.tolist() + right.tolist() if letter]
    return torch.tensor(both + [0] * (len(left) - len(both)), dtype=torch.uint8)


@lamp("scatters", star=2)
def scatters_and_gathers():
    """Each rank its row, and back again: what goes along an edge is one block of rows. Every root."""
    for size in SIZES:
        for root in range(size):
            there, back = zip(*sim.run(dealt, size, (root,)).results)
            due = [[10.0 * rank, 10.0 * rank + 1] for rank in range(size)]
            assert list(there) == due, (
                f"{lab.ranks(size)}, root {root}: scatter gives {list(there)}"
            )
            assert back[root] == due, f"{lab.ranks(size)}, root {root}: gather makes {back[root]}"


def dealt(root):
    rank, size = dist.get_rank(), dist.get_world_size()
    rows, mine = torch.zeros((size, 2)), torch.zeros(2)
    if rank == root:
        rows = torch.tensor([[10.0 * row, 10.0 * row + 1] for row in range(size)])
    tree.scatter(mine, rows, root)
    again = torch.zeros((size, 2))
    tree.gather(again, mine, root)
    return mine.tolist(), again.tolist()


@lamp("plugs in", star=2)
def your_tree_in_our_broadcast():
    """The library takes an algorithm as data: it proves it, and broadcasts with it."""
    steps = Schedule("broadcast", "your tree", steps_of, chunks=lambda size: 1)
    for size in range(1, 10):
        for root in range(size):
            wrong = proof.examine(steps, size, 3, root=root)
            assert not wrong, f"{size} ranks, root {root}: {wrong[0]}"

    def program():
        tensor = torch.full((3,), float(dist.get_rank()))
        dist.broadcast(tensor, 4, algorithm=steps)
        return tensor.tolist()

    assert sim.run(program, 6).results == [[4.0] * 3] * 6


def steps_of(rank, size, root=0):
    above = tree.parent(rank, size, root)
    if above is not None:
        yield Receive(above, 0)
    for below in reversed(tree.children(rank, size, root)):
        yield Send(below, 0)


@lamp("rounds")
def rounds():
    """⌈log2 P⌉ messages follow each other, for P = 1 … 33, up the tree and down."""
    costs = [
        climbed(collective, size, root)
        for collective in (tree.broadcast, tree.reduce)
        for size in range(1, 34)
        for root in sorted({0, size // 2, size - 1})
    ]
    return max(costs, key=lambda cost: cost.ratio)


def climbed(collective, size, root):
    found = lab.meter(lambda tensor: collective(tensor, root), size, 1)
    where = f"{collective.__name__}, {size} ranks, root {root}"
    return MeasuredCost(found.rounds, bounds.least_rounds(size), unit=" rounds", where=where)


def rounds_of_a_thousand():
    steps = Schedule("broadcast", "your tree", steps_of, chunks=lambda size: 1)
    return Replay(steps, 1000, 1, root=0, links=COUNTING).run().time


def rounds_of_a_star():
    return lab.meter(lambda x: tree.broadcast(x, 0, tree.STAR), 8, 1).rounds


FILLS = {
    "everybody": (tree.broadcast, "broadcast", 5),
    "reduce": (tree.reduce, "reduce", 5),
    "scatters": (tree.scatter, "scatter", 5),
}


def contents():
    """Eight ranks, from rank 5 to all."""
    return lab.grid(tree.broadcast, "broadcast", 8, count=1, root=5)


def picture():
    """Eight ranks, from rank 5 to all."""
    return lab.scene(lambda: tree.broadcast(torch.ones(1), 5), 8)
