"""Lesson 25: nobody reads what is older than allowed, nobody waits longer than needed."""

import server

import minitorch_dist as torch
from minitorch_dist import sim
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import MeasuredCost, lamp
from mtd.course.loading import beside

schedules = beside(__file__, "schedules")

QUICK = "sim://?latency=1us&rate=100GB/s"  # beside milliseconds of computing


# ------------------------------------------------------------------------------ sync: the golden run


def noting(steps):
    """A step in exact numbers, which notes the values before it rounds them."""

    def exact_step(values, gradients):
        assert gradients, (
            "step() is called without any gradient: a step with momentum would move the values"
        )
        for gradient in gradients:
            for value, part in zip(values, gradient):
                value.sub_(exact.RATE * part)
        with exact.watched() as seen:
            exact.snap(values)
        steps.extend(seen)

    return exact_step


def exact_gradient(values, batch):
    """Of this worker's samples; slowly, on rank 1."""
    sim.compute("1ms")
    model = exact.Model()
    with torch.no_grad():
        for p, value in zip(model.parameters(), values):
            p.copy_(value)
    exact.loss(model(batch[0]), batch[1]).backward()
    return [p.grad for p in model.parameters()]


def batches():
    """Four, which no number of workers divides; the last one has 3 samples."""
    samples = exact.data(3 * 17 + 3)
    return [samples.part(start, start + 17) for start in range(0, 54, 17)]


def golden():
    """One rank, all samples: after each step the values, before they are rounded."""
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    with exact.watched() as steps:
        for batch in batches():
            exact.step(model, optimizer, batch)
    return [value for step in steps for value in step]


def in_sync(workers):
    """Worker w has its part of each batch, and no part of a batch in which it has no sample."""
    shares = [[batch.shares(workers)[w] for batch in batches()] for w in range(workers)]
    shares = [[tuple(share) for share in mine if share.samples] for mine in shares]
    values = [p.detach().clone() for p in exact.Model().parameters()]
    steps = []
    found = server.train(values, noting(steps), exact_gradient, shares, 0)
    if found is None:
        return None
    kept = [] if not steps else [exact.rounded(value) for value in steps[-1]]
    assert exact.same([value.array for value in found], kept), (
        "the values that train returned are not those after the last step"
    )
    return [value for step in steps for value in step]


@lamp("correct")
def right():
    """Sync is the golden run, bit for bit: 1, 2, 3 and 5 workers, one of which is slow, in several orders."""
    wanted = golden()
    for workers in (1, 2, 3, 5):
        for seed in (None, 1, 2):
            slow = {} if seed is None else {1 + seed % workers: 0.2}
            found = run(in_sync, 1 + workers, args=(workers,), seed=seed, speeds=slow)
            same = exact.same(found.results[0], wanted)
            assert same, (
                f"{workers} worker{'s do' if workers > 1 else ' does'} not end with the weights of one rank: "
                f"{differ(found.results[0], wanted)}"
            )


def run(program, size, **how):
    """A run that ends: who waits for ever is said in one line."""
    try:
        return sim.run(program, size, net=QUICK, limit=1e4, **how)
    except sim.Deadlock as error:
        raise AssertionError(f"{size - 1} workers: {str(error).splitlines()[0]}") from None


def differ(found, wanted):
    names = ("w1", "b1", "w2", "b2")
    if len(found) != len(wanted):
        return f"{len(found) // 4} steps, and there are {len(wanted) // 4} batches"
    worst = [abs(a - b).max() for a, b in zip(found, wanted)]
    return ", ".join(
        f"{names[at % 4]} in step {at // 4 + 1} by up to {by:g}"
        for at, by in enumerate(worst)
        if by
    )


# -------------------------------------------------------------------------- every schedule of a server


def demand(name):
    if name in schedules.survey():
        said, error = schedules.survey()[name]
        raise AssertionError(said) from error


@lamp("fresh", star=2)
def fresh():
    """No read is older than s, in any order; and in sync mode none is newer."""
    demand("fresh")


@lamp("never stuck")
def never_stuck():
    """In no order does somebody wait for ever; also if some have fewer batches."""
    demand("never stuck")


@lamp("prompt", star=2)
def prompt():
    """Nobody waits who may read."""
    demand("prompt")


# ------------------------------------------------------------------------------------- time, and speed


def timed_gradient(values, batch):
    sim.compute(batch)
    return [torch.zeros(1)]


def no_step(values, gradients):
    pass


def rotating(workers, steps):
    """In each step another worker takes 5 ms, the others 1 ms."""
    return [[5e-3 if k % workers == w else 1e-3 for k in range(steps)] for w in range(workers)]


def least_time(batches, staleness):
    """When the last one is through, by the rule: step c of w begins after step c - 1 - s of everybody."""
    ends = [[] for _ in batches]
    for c in range(len(batches[0])):
        begins = [
            max(
                [
                    mine[-1] if mine else 0.0,
                    *(other[c - 1 - staleness] for other in ends if c > staleness),
                ]
            )
            for mine in ends
        ]
        for w, mine in enumerate(ends):
            mine.append(begins[w] + batches[w][c])
    return max(mine[-1] for mine in ends)


def seconds(batches, staleness):
    args = [torch.zeros(1)], no_step, timed_gradient, batches, staleness
    return run(server.train, 1 + len(batches), args=args).time / 1e12


@lamp("time", star=3)
def time():
    """With another slow worker in each step: s = 2 hides them, as far as the rule allows."""
    batches = rotating(4, 16)
    return MeasuredCost(seconds(batches, 2), least_time(batches, 2), limit=1.05, unit=" s")


# -------------------------------------------------------------------------------------- convergence

RATE, CURVATURE, TARGET = 0.05, 1.0, 3.0


def slope(values, batch):
    """Of ½ a (x - t)², and which version was read."""
    sim.compute(batch)
    x, version = values
    return [CURVATURE * (x - TARGET), version]


class Trace:
    """For each step of the server: how many steps lay between read and push, and the error."""

    delays, errors, times = [], [], []


def noted_step(values, gradients):
    x, version = values
    now = int(version.item())
    for gradient, read in gradients:
        Trace.delays.append(now - int(read.item()))
        x.sub_(RATE * gradient)
        version.add_(1)
        Trace.errors.append(abs(x.item() - TARGET))
        Trace.times.append(sim.now())


def descend(staleness, batches):
    """Train x on a parabola; the trace."""
    Trace.delays, Trace.errors, Trace.times = [], [], []
    values = [torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)]
    found = run(
        server.train, 1 + len(batches), args=(values, noted_step, slope, batches, staleness)
    )
    return found, Trace


@lamp("converges", star=2)
def converges():
    """Async, one of 3 workers 4 times slower: the error is below (1 - η(1 - ητ))^⌊k/(2τ+1)⌋ of the first, after k steps."""
    batches = [[4e-3] * 50, [1e-3] * 200, [1e-3] * 200]
    _, trace = descend(schedules.INF, batches)
    tau = max(trace.delays)
    assert len(trace.errors) == 450, (
        f"450 gradients were pushed, {len(trace.errors)} steps were taken"
    )
    shrinks = 1 - RATE * (1 - RATE * tau)
    for k, error in enumerate(trace.errors, 1):
        bound = TARGET * shrinks ** (k // (2 * tau + 1))
        assert error <= bound, (
            f"after {k} steps, each at most {tau} late, the error is {error:g}, and the bound {bound:g}"
        )


# --------------------------------------------------------------------------------------- questions


def hot_link():
    """Bytes that leave the server, in what leaves a worker."""
    batches = [[0.0] * 5] * 4
    args = [torch.zeros(10_000)], no_step, big_gradient, batches, 0
    ranks = sim.run(server.train, 5, args=args).ranks
    return round(ranks[0].bytes_sent / ranks[1].bytes_sent, 1)


def big_gradient(values, batch):
    return [torch.zeros(10_000)]


def slowed_down():
    """One of 4 workers is 4 times slower: sync takes so many times as long."""
    even, slow = [[1e-3] * 20] * 4, [[4e-3] * 20, *[[1e-3] * 20] * 3]
    return round(seconds(slow, 0) / seconds(even, 0), 1)


# ----------------------------------------------------------------------------------------- picture


def picture():
    """One of 4 workers is 4 times slower, and all want to push 60 steps in all."""
    modes = {
        "sync": (0, [15] * 4),
        "s = 2": (2, [9, 17, 17, 17]),
        "async": (schedules.INF, [5, 19, 18, 18]),
    }
    rows, curves = [], []
    for name, (staleness, steps) in modes.items():
        batches = [[(4e-3 if w == 0 else 1e-3)] * n for w, n in enumerate(steps)]
        _, trace = descend(staleness, batches)
        counts = [trace.delays.count(d) for d in range(14)]
        rows.append(f"{name:7}" + "".join(f"{n or '·':>5}" for n in counts))
        curves.append(f"{name:7}  " + "".join(level(trace, ms * 1e-3) for ms in range(60)))
    return "\n".join([
        "4 workers, the first is 4 times slower, 60 pushes in all", "",
        "gradients by age: steps that were taken between their read and their push",
        " " * 7 + "".join(f"{d:5}" for d in range(14)), *rows, "",
        "error of the value, over virtual time (each character is 1 ms)", *curves, "",
        f"bytes: what leaves the server is {hot_link()} times what leaves a worker",
    ])  # fmt: skip


def level(trace, at):
    """The error at an instant, as a bar."""
    past = [error for error, when in zip(trace.errors, trace.times) if when <= at]
    if at > trace.times[-1] + 1e-3:
        return " "
    share = (past[-1] if past else TARGET) / TARGET
    return "▁▂▃▄▅▆▇█"[min(7, int(share * 8))]
