"""Lesson 35: all talk seldom, in few bits, and with those who are there; nothing is counted twice."""

import itertools

import local_steps

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import MeasuredCost, lab, lamp, real_wires
from mtd.course.cluster import Trouble
from mtd.course.loading import beside
from transports.conformance.bench import draw

machines = beside(__file__, "machines")

SIZES = (1, 2, 3, 5)


# ---------------------------------------------------------------------------------- talk seldom


@lamp("outer step")
def outer():
    """Five steps are those of SGD with Nesterov's momentum, and of plain SGD if the momentum is 0."""
    for momentum in (0.0, 0.5, 0.9):
        p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
        sgd = SGD([p], lr=0.25, momentum=momentum, nesterov=momentum > 0)
        weights, velocity = p.detach().clone(), torch.zeros(2, dtype=torch.float64)
        for step in range(5):
            p.grad = torch.tensor([1.0 + step, -3.0], dtype=torch.float64)
            sgd.step()
            weights, velocity = local_steps.outer_step(weights, velocity, p.grad, 0.25, momentum)
            worst = (weights - p.detach()).abs().max().item()
            assert worst < 1e-12, (
                f"rate 0.25, momentum {momentum}, changes of [{1 + step}, -3]: after step {step + 1} the weights are "
                f"{weights.tolist()}, expected {p.tolist()}"
            )


def often():
    """DiLoCo that talks after each step, rate 1 and momentum 0; the weights of each step in full."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = exact.Model()
    optimizer = local_steps.DiLoCo(
        model.parameters(), SGD(model.parameters(), lr=exact.RATE), 1, 1.0, 0.0
    )
    for seed, count in enumerate((37, 23)):
        model.zero_grad()
        share = exact.data(count, seed).shares(size)[rank]
        (exact.loss(model(share.x), share.y) * float(size)).backward()
        optimizer.step()
    return exact.weights(model)


def kept_for_a_while(every, size, steps):
    """Rank r's gradient is r + 1, and the inner rate 1: the weights after each step, by rank."""

    def program():
        p = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        optimizer, found = local_steps.DiLoCo([p], SGD([p], lr=1.0), every, 0.5, 0.5), []
        for _ in range(steps):
            p.grad = torch.full((2,), dist.get_rank() + 1.0, dtype=torch.float64)
            optimizer.step()
            found.append(p.tolist()[0])
        return found

    return sim.run(program, size).results


@lamp("correct")
def correct():
    """If all talk after each step and average, it is one rank with the whole batch; else all talk after `every` steps only."""
    wanted = sim.run(often, 1).results[0]
    for size in SIZES:
        for rank, found in enumerate(sim.run(often, size).results):
            worst = max(abs(a - b).max() for a, b in zip(found, wanted))
            assert worst < 1e-12, (
                f"{lab.ranks(size)}, every step, rate 1, momentum 0: after two batches rank {rank}'s weights differ from "
                f"those of one rank by up to {worst:g}"
            )
    for size, every in itertools.product(SIZES, (1, 2, 3)):
        mean, base, velocity, expected = (size + 1) / 2 * every, 0.0, 0.0, []
        for step in range(1, 7):
            if step % every == 0:
                velocity = 0.5 * velocity + mean
                base -= 0.5 * (mean + 0.5 * velocity)
            expected.append(base if step % every == 0 else None)
        for rank, found in enumerate(kept_for_a_while(every, size, 6)):
            alone = 0.0
            for step, (value, due) in enumerate(zip(found, expected), 1):
                alone = due if due is not None else alone - (rank + 1)
                assert abs(value - alone) < 1e-9, (
                    f"{lab.ranks(size)}, all talk every {every} steps. The gradient of rank r is r + 1, the inner rate 1, the "
                    f"outer rate and momentum 0.5. After step {step} rank {rank} is at {value:g}, expected {alone:g}"
                )


def sent(program, size):
    return max(rank.bytes_sent for rank in sim.run(program, size).ranks)


def bytes_of(every, size, count, make=None):
    """Of 12 steps, by the rank that sends most. every=0: of an all_reduce in each step."""

    def program():
        if not every:
            for _ in range(12):
                dist.all_reduce(torch.ones(count))
            return
        p = torch.zeros(count, dtype=torch.float32, requires_grad=True)
        how = {"average": make()} if make else {}
        optimizer = local_steps.DiLoCo([p], SGD([p], lr=1.0), every, **how)
        for _ in range(12):
            p.grad = torch.ones(count)
            optimizer.step()

    return sent(program, size)


@lamp("bytes")
def bytes_of_twelve_steps():
    """If all talk every k steps, a k-th of the bytes of an all_reduce in each step is sent."""
    found = []
    for size, every in itertools.product((2, 4), (1, 3, 4)):
        least = bytes_of(0, size, 1000) / every
        where = f"{size} ranks, 12 steps of 4000 bytes, all talk every {every}"
        total = bytes_of(every, size, 1000)
        found.append(MeasuredCost(total, least, 1.0, " bytes", where, "DDP's k-th"))
    return max(found, key=lambda cost: cost.ratio)


def trained(every, size=4, rate=0.7, momentum=0.9, average=None, steps=240, rounds=False):
    """The loss of the golden run's model: with every=0 gradients are averaged in each step."""

    def program():
        rank, model = dist.get_rank(), exact.Model()
        inner = SGD(model.parameters(), lr=2.0**-7)
        how = {"average": average()} if average else {}
        if every:
            optimizer = local_steps.DiLoCo(model.parameters(), inner, every, rate, momentum, **how)
        for step in range(steps):
            model.zero_grad()
            share = exact.data(37, step % 8).shares(size)[rank]
            (exact.loss(model(share.x), share.y) * float(size)).backward()
            if every:
                optimizer.step()
            else:
                for p in model.parameters():
                    dist.all_reduce(p.grad)
                    p.grad /= size
                inner.step()
        whole = [exact.data(37, seed) for seed in range(8)]
        return sum(exact.loss(model(one.x), one.y).item() for one in whole) / 8

    return sim.run(program, size).results[0]


@lamp("trains", star=3)
def trains():
    """Four ranks, 240 steps, a talk every 8: with plain averages the loss of DDP within a percent, and a lower one with DiLoCo."""
    ddp, plain, diloco = trained(0), trained(8, rate=1.0, momentum=0.0), trained(8)
    assert abs(plain - ddp) < ddp / 100, (
        f"with a plain average every 8 steps the loss is {plain:.4f}, and with DDP {ddp:.4f}"
    )
    assert diloco < ddp, f"with DiLoCo the loss is {diloco:.4f}, and with DDP {ddp:.4f}"


# -------------------------------------------------------------------------------------- few bits


@lamp("nothing is lost", star=2)
def few_bits():
    """Each number is a byte, and rounding errors are sent later: after 50 averages no number has too little by more than a level."""
    for size in SIZES:

        def program():
            rank, rounded = dist.get_rank(), local_steps.Rounded()
            change = torch.tensor([1.0, 0.001, -0.003 * (rank + 1), 0.0], dtype=torch.float64)
            total = {0: torch.zeros(4, dtype=torch.float64), 1: torch.zeros(4, dtype=torch.float64)}
            for _ in range(50):
                total[0] += rounded(0, change.clone())
                total[1] += rounded(1, -2 * change)
            return total[0].tolist(), total[1].tolist()

        mean = [50.0, 0.05, -0.15 * (size + 1) / 2, 0.0]
        for rank, sums in enumerate(sim.run(program, size).results):
            for number, times in ((0, 1), (1, -2)):
                for place, (found, value) in enumerate(zip(sums[number], mean)):
                    level = abs(times) * 1.02 / 127
                    assert abs(found - times * value) <= level, (
                        f"{lab.ranks(size)}, parameter {number}: the sum of 50 averages is {found:.4f} in element {place} on "
                        f"rank {rank}, and without rounding {times * value:.4f}; a level of a byte is {level:.4f} there"
                    )


@lamp("few bytes", star=3)
def few_bytes():
    """A byte for each number to each other rank, and a scale."""
    found = []
    for size in (2, 4):
        least = 3 * (size - 1) * (1000 + 4)
        total = bytes_of(4, size, 1000, local_steps.Rounded)
        found.append(
            MeasuredCost(
                total, least, unit=" bytes", where=f"{size} ranks, 3 talks of 1000 numbers"
            )
        )
    return max(found, key=lambda cost: cost.ratio)


# -------------------------------------------------------------------------------- those who are there


@lamp("quorum")
def quorum():
    """Nothing happens: 1 to 4 machines need one quorum for each step, and all changes are in the weights, once."""
    for size in range(1, 5):
        found = machines.calm(size)
        found.nothing_is_lost()
        number = found.lighthouse.number
        assert number == machines.STEPS, (
            f"{found.said}: {number} quorums for {machines.STEPS} steps, expected {machines.STEPS}{found.tail()}"
        )
        many = [len(state.weights) for state in found.results]
        assert many == [size * (machines.STEPS - 1)] * size, (
            f"{found.said}: {many} changes are in the machines' weights, expected {size * (machines.STEPS - 1)}. All begin with a "
            f"quorum, and then each brings {machines.STEPS - 1}{found.tail()}"
        )


@lamp("death", star=2)
def death():
    """Any machine of 1, 2 or 3 dies at any place, and comes back never, at once or late: others go on, and it heals."""
    for size in (1, 2, 3):
        for rank, action in machines.points(size):
            for restart in machines.DEATHS:
                machines.Found(size, [Trouble(rank, action, restart=restart)]).nothing_is_lost()


@lamp("late", star=2)
def late():
    """Any machine of 2 or 3 stands still at any place: its work comes late, is not lost, and is not counted twice."""
    for size in (2, 3):
        for rank, action in machines.points(size):
            for still in machines.STILL:
                machines.Found(size, [Trouble(rank, action, still=still)]).nothing_is_lost()


@lamp("several at once", star=2)
def several():
    """Two to four troubles of 2 to 5 machines, at random, 60 times: nothing is counted twice, and training ends."""
    for seed in range(60):
        size = 2 + draw(4, seed, "size")
        many = 2 + draw(3, seed, "many")
        machines.Found(
            size, [machines.some(seed, number, draw(size, seed, number)) for number in range(many)]
        )


@lamp("patience", star=2)
def patience():
    """At first patience is shorter than a message needs on the slow cable: it grows, and all take part again."""
    for size in (2, 3):
        found = machines.Found(size, patience=0.02, steps=20)
        last = found.states[max(found.states)].weights
        there = sorted({rank for rank, *_ in last})
        assert there == [*range(size)], (
            f"{found.said}, patience 0.02 s at first, and the slow cable takes 0.15 s: only machines {there} have changes in "
            f"the weights{found.tail()}"
        )


@lamp("waiting", star=3)
def waiting():
    """A machine that dies costs the others a silence and a longer wait: three times the patience. A slow one costs nothing."""
    costs, usual = [], machines.seconds_of(machines.calm(3))
    for action in (1, 3, 10, 30, 45, 60, 75, 90):
        found = machines.Found(3, [Trouble(2, action)])
        most = usual + 3 * local_steps.PATIENCE
        costs.append(
            MeasuredCost(machines.seconds_of(found), most, 1.0, " s", found.said, "three patiences")
        )
    found, most = (
        machines.Found(3, slow={2: 10}, steps=8),
        machines.seconds_of(machines.Found(3, steps=8)),
    )
    costs.append(
        MeasuredCost(machines.seconds_of(found), most, 1.0, " s", found.said, "without it")
    )
    return max(costs, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ------------------------------------------------------------------------------------- questions


def bytes_in_percent():
    return 100 * bytes_of(12, 4, 1000) / bytes_of(1, 4, 1000)


def percent_of_bytes_in_few_bits():
    return round(100 * bytes_of(12, 4, 100_000, local_steps.Rounded) / bytes_of(12, 4, 100_000))


# --------------------------------------------------------------------------------------- picture

COLUMN = 0.08  # seconds


def picture():
    """Machine 1 dies and comes back; machine 2 computes three times as long."""
    found = machines.Found(3, [Trouble(1, 60, restart=0.8)], {2: 3}, steps=8)
    events, lines = found.cluster.events, []
    columns = int(max(one.at for one in events) / 1e12 / COLUMN) + 1
    for rank in range(3):
        row = ["·"] * columns
        for _, begin, end in (one for one in found.works if one[0] == rank):
            row[int(begin / COLUMN) : int(end / COLUMN)] = "▓" * (
                int(end / COLUMN) - int(begin / COLUMN)
            )
        own = [(int(one.at / 1e12 / COLUMN), one.what) for one in events if one.rank == rank]
        for place, what in own:
            if what in ("asks", "dies"):
                row[place] = "|" if what == "asks" else "✗"
        for (dead, what), (back, _) in itertools.pairwise(own):
            if what == "dies":
                row[dead + 1 : back] = " " * (back - dead - 1)
        last = own[-1][0] + 1
        lines.append(f"machine {rank}  {''.join(row[:last])}"[:78].rstrip())
    state = found.states[max(found.states)]
    shares = [sum(one[0] == rank for one in state.weights) for rank in range(3)]
    return "\n".join(
        [
            *lines,
            f"{'':11}{'1 s'.rjust(int(1 / COLUMN) + 2)}",
            "",
            "▓: steps by itself   |: asks for a quorum   ·: waits   ✗: dies",
            f"changes of machines 0, 1 and 2 in the weights after {state.steps} quorums: {shares}",
        ]
    )
