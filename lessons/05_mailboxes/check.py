"""Lesson 05: each receive gets the oldest message that matches, in whatever order they come."""

import re
from unittest.mock import patch

import mailboxes
import neighbour
import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from mtd.course import lamp, real_wires

SEEDS = 200


def spawn(program, size, seed=0, where=""):
    """A run; its deadlock as a sentence of the check."""
    try:
        return mailboxes.spawn(program, size, seed=seed)
    except mailboxes.Deadlock as error:
        said = str(error)
    missed = re.search(r"rank (\d+) for (tag \d+ from rank \d+) \(in its mailbox: [^)]*\2\b", said)
    if missed:
        said += f". The message that rank {missed[1]} asks for is in its mailbox, and recv waits all the same"
    raise AssertionError(f"{where or ranks(size)}, seed {seed}: nobody can go on; {said}")


def ranks(size):
    return f"{size} rank{'s' * (size > 1)}"


def say(number, dst, tag=0):
    mailboxes.send(torch.tensor([float(number)]), dst, tag)


def hear(src=None, tag=0):
    heard = torch.zeros(1)
    return mailboxes.recv(heard, src, tag), int(heard.item())


# ------------------------------------------------------------------------------- examples


@lamp("correct")
def right():
    """Small programs, each under 20 seeds."""
    for words, program, size, wanted in [
        ("rank 0 sends 7 to rank 1", one_message, 2, (0, 7)),
        ("rank 0 sends 1 with tag 1, then 2 with tag 2; rank 1 receives tag 2, then tag 1", two_tags, 2, [(0, 2), (0, 1)]),
        ("ranks 0 and 2 send 10 and 12 to rank 1, which receives from 2, then from 0", two_sources, 3, [(2, 12), (0, 10)]),
        ("ranks 0 and 2 send 10 and 12 to rank 1, which receives from 0, then from 2", zero_first, 3, [(0, 10), (2, 12)]),
        ("rank 1 sends 5 to itself", to_itself, 2, (1, 5)),
        ("ranks 0 and 2 send to rank 1, which receives twice from anybody", from_anybody, 3, [(0, 10), (2, 12)]),
    ]:  # fmt: skip
        for seed in range(20):
            found = spawn(program, size, seed, words).results[1]
            assert found == wanted, (
                f"{words}: (sender, number) should be {wanted}, with seed {seed} it is {found}"
            )


def one_message():
    return say(7, 1) if mailboxes.get_rank() == 0 else hear(0)


def two_tags():
    if mailboxes.get_rank() == 0:
        say(1, 1, tag=1)
        say(2, 1, tag=2)
        return None
    return [hear(0, tag=2), hear(0, tag=1)]


def two_sources():
    me = mailboxes.get_rank()
    return [hear(2), hear(0)] if me == 1 else say(10 + me, 1)


def zero_first():
    me = mailboxes.get_rank()
    return [hear(0), hear(2)] if me == 1 else say(10 + me, 1)


def to_itself():
    if mailboxes.get_rank() == 0:
        return None
    say(5, 1)
    return hear(1)


def from_anybody():
    me = mailboxes.get_rank()
    return sorted([hear(), hear()]) if me == 1 else say(10 + me, 1)


# ------------------------------------------------------------------------------- all of them


@lamp("in order")
def in_order():
    """Three in a row; then three tags, two of each from everybody to everybody, with 2, 3, 5 and 1 ranks, 200 seeds."""
    for seed in range(20):
        words = "rank 0 sends 1, 2, 3 to rank 1, which receives three times"
        found = spawn(three_in_a_row, 2, seed, words).results[1]
        assert found == [1, 2, 3], (
            f"{words}: it should hear [1, 2, 3], with seed {seed} it hears {found}"
        )
    for seed in range(SEEDS):
        size = (2, 3, 5, 1)[seed % 4]
        for wrong in traffic(size, seed).results:
            assert wrong is None, f"{ranks(size)}, seed {seed}: {wrong}"


@lamp("oldest first")
def oldest_first():
    """Everybody sends two kinds to rank 0, which receives from anybody; 2, 3, 5 ranks, 40 seeds."""
    for seed in range(40):
        size = (2, 3, 5)[seed % 3]
        mailbox = []
        for what, src, dst, tag in spawn(all_to_zero, size, seed).journal:
            if what == "arrives" and dst == 0:
                mailbox.append((src, tag))
            elif what == "receives" and dst == 0:
                oldest = next(message for message in mailbox if message[1] == tag)
                assert (src, tag) == oldest, (
                    f"{ranks(size)}, seed {seed}: rank 0 receives tag {tag} from anybody, and in its mailbox are, the oldest first, "
                    f"{', '.join(f'tag {kind} from rank {sender}' for sender, kind in mailbox)}. It takes that of rank {src}, "
                    f"and the oldest that matches is that of rank {oldest[0]}"
                )
                mailbox.remove(oldest)


def all_to_zero():
    me, size = mailboxes.get_rank(), mailboxes.get_world_size()
    if me:
        for tag in (1, 2, 1, 2):
            say(me, 0, tag)
        return
    for tag in (2, 1) * (2 * (size - 1)):
        hear(None, tag)


def three_in_a_row():
    if mailboxes.get_rank() == 1:
        return [hear(0)[1] for _ in range(3)]
    for number in (1, 2, 3):
        say(number, 1)
    return None


def traffic(size, seed, tags=(0, 1, 7), each=2):
    """Every rank sends and receives all kinds in an order of its own. Results: the first wrong message, in words."""
    kinds = [(other, tag) for other in range(size) for tag in tags for _ in range(each)]
    ordinal = ("first", "second")

    def program():
        me, wrong = mailboxes.get_rank(), None
        random = np.random.default_rng((seed, me))
        sent, heard = {}, {}
        for place in random.permutation(len(kinds)):
            dst, tag = kinds[place]
            number = sent[dst, tag] = sent.get((dst, tag), -1) + 1
            mailboxes.send(torch.tensor([float(me), float(tag), float(number)]), dst, tag)
        for place in random.permutation(len(kinds)):
            src, tag = kinds[place]
            number = heard[src, tag] = heard.get((src, tag), -1) + 1
            into = torch.zeros(3)
            mailboxes.recv(into, src, tag)
            found = [int(n) for n in into.tolist()]
            if found != [src, tag, number]:
                wrong = wrong or (
                    f"rank {me} asks for tag {tag} from rank {src}, for the {ordinal[number]} time, "
                    f"and gets the {ordinal[found[2]]} message with tag {found[1]} from rank {found[0]}"
                )
        return wrong

    return spawn(program, size, seed)


@lamp("never stuck")
def never_stuck():
    """A waiting rank is woken by other messages, too, and must go on waiting. It is told if none will ever come."""
    for seed in range(20):
        words = "rank 0 sends ten messages with tag 1 and then one with tag 2; rank 1 receives the last one first"
        found = spawn(one_after_ten, 2, seed, words).results[1]
        assert found == [10, *range(10)], f"{words}: it should hear 10, 0, 1 … 9 and hears {found}"
    try:
        mailboxes.spawn(lambda: hear(tag=3), 2)
    except mailboxes.Deadlock:
        return
    raise AssertionError(
        "two ranks receive what nobody sends: that should be a Deadlock, and recv returned"
    )


def one_after_ten():
    if mailboxes.get_rank() == 0:
        for number in range(10):
            say(number, 1, tag=1)
        return say(10, 1, tag=2)
    return [hear(0, tag=2)[1], *(hear(0, tag=1)[1] for _ in range(10))]


@lamp("repeatable", star=2)
def repeatable():
    """The same seed: the same journal. Another seed: another journal, and the same result."""
    journals = set()
    for seed in range(10):
        first, second = traffic(3, seed).journal, traffic(3, seed).journal
        for number, (one, other) in enumerate(zip(first, second)):
            assert one == other, (
                f"seed {seed}, twice: entry {number} of the journals is {one} and {other}"
            )
        journals.add(tuple(first))
    assert len(journals) == 10, f"10 seeds made {len(journals)} different journals"


@lamp("plugged in", star=2)
def plugged_in():
    """The ring of lesson 1, over these mailboxes."""
    for size in (1, 2, 3, 5, 8):

        def program():
            tensor = torch.tensor([10.0 ** mailboxes.get_rank()])
            neighbour.all_reduce(tensor)
            return int(tensor.item())

        with patch.multiple(
            dist, get_rank=mailboxes.get_rank, get_world_size=mailboxes.get_world_size,
            isend=isend, recv=mailboxes.recv,
        ):  # fmt: skip
            found = spawn(program, size, where=f"the ring of lesson 1 with {size} ranks").results
        wanted = [(10**size - 1) // 9] * size
        assert found == wanted, (
            f"the ring of lesson 1: {size} ranks give 1, 10, 100 …; sums {found}, expected {wanted}"
        )


class Sent:
    """The result of isend here: a copy is under way already."""

    def wait(self):
        pass


def isend(tensor, dst):
    mailboxes.send(tensor, dst)
    return Sent()


@lamp("memory")
def memory():
    """Received messages are kept nowhere."""
    left = [len(box) for box in traffic(3, 1).mailboxes]
    assert left == [0, 0, 0], (
        f"3 ranks have received all messages, and in their mailboxes there are {left} still: memory that nobody frees, "
        "and each receive looks through all of it"
    )


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ------------------------------------------------------------------------------- questions, picture


def orders_of_arrival():
    """Of two messages each from ranks 1 and 2, at rank 0."""

    def program():
        me = mailboxes.get_rank()
        if me:
            say(1, 0)
            say(2, 0)
        else:
            for src in (1, 1, 2, 2):
                hear(src)

    runs = [spawn(program, 3, seed).journal for seed in range(100)]
    return len({tuple(src for what, src, *_ in run if what == "arrives") for run in runs})


def results_of_named_receives():
    return len({tuple(spawn(two_sources, 3, seed).results[1]) for seed in range(50)})


def picture():
    """Three ranks, two tags, one seed: messages from when they are sent until they have arrived."""

    def program():
        me = mailboxes.get_rank()
        if me == 1:
            return [hear(2, tag=1), hear(0, tag=2), hear(0, tag=1)]
        say(1, 1, tag=1)
        return say(2, 1, tag=2) if me == 0 else None

    lines = [
        "rank 1 asks for tag 1 from rank 2, tag 2 from rank 0, tag 1 from rank 0",
        "",
    ]
    journal = spawn(program, 3, seed=3).journal
    for number, (what, src, dst, tag) in enumerate(journal, 1):
        where = src if what == "sends" else dst
        said = {
            "sends": f"sends {tag} to {dst}",
            "arrives": f"({tag} from {src} has come)",
            "receives": f"gets {tag} from {src}",
        }[what]
        lines.append(f"{number:>2}  " + " " * 24 * where + said)
    lines.insert(1, "")
    lines.insert(2, "    " + "".join(f"{f'rank {rank}':<24}" for rank in range(3)).rstrip())
    return "\n".join(line.rstrip() for line in lines)
