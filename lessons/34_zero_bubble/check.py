"""Lesson 34: the weights of one rank, in the least time that any order can take, in the memory of 1F1B."""

import math

import zero_bubble

import minitorch_dist as torch
from minitorch_dist import nn, sim
from minitorch_dist.distributed.pipelining.orders import (
    F,
    I,
    Pipe,
    W,
    everyones,
    faults,
    one_forward_one_backward,
)
from minitorch_dist.distributed.pipelining.timing import times
from mtd.course import MeasuredCost, lamp, pipelines, real_wires
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

PIPES = [Pipe(ranks, m) for ranks in (1, 2, 3, 5) for m in (1, 2, 4, 7)]
LONG_PIPES = [Pipe(2, 16), Pipe(3, 20), Pipe(5, 30)]
MESSAGES = (0.25, 0.5, 1, 1.5, 2, 3)  # in forwards


@lamp("exactly once")
def once():
    """F, I and W of each micro-batch once on each stage, in this order; for 1 to 6 stages, 1 to 7 micro-batches."""
    for ranks in range(1, 7):
        for count in range(1, 8):
            pipe = Pipe(ranks, count)
            for fault in faults(pipelines.orders_of(zero_bubble.zero_bubble, pipe), pipe):
                raise AssertionError(f"stages: {ranks}, micro-batches: {count}: {fault}")


# ---------------------------------------------------------------------------- the two halves


class Products(nn.Module):
    """The layers of the course's model, whose products put the gradients of their weights off."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers
        matrices = [name for name in layers.names if name[0] == "w"]
        self.products = nn.ModuleList(
            [zero_bubble.Product(getattr(layers, name)) for name in matrices]
        )

    def forward(self, x):
        products = iter(self.products)
        for name in self.layers.names:
            if name == "relu":
                x = x.relu()
            else:
                x = next(products)(x) if name[0] == "w" else x + getattr(self.layers, name)
        return x


class Split(zero_bubble.Stage):
    """A stage that is given plain layers."""

    def __init__(self, layers, columns):
        super().__init__(Products(layers), columns)


class Twice(nn.Module):
    """One weight that is used twice, and one that is frozen."""

    def __init__(self):
        super().__init__()
        shared = nn.Parameter(torch.tensor([[1.0, 2.0], [-1.0, 0.5]]))
        frozen = nn.Parameter(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), requires_grad=False)
        self.parts = nn.ModuleList([zero_bubble.Product(w) for w in (shared, frozen, shared)])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def plainly(self, x):
        for part in self.parts:
            x = x @ part.weight
        return x


def two_halves():
    """Three micro-batches on one stage; all I, then W in another order."""
    model = Twice()
    stage = zero_bubble.Stage(model, 2)
    data = [(torch.tensor([[k + 1.0, 2.0], [0.5, -k]], requires_grad=True), None) for k in range(3)]
    for k, (x, _) in enumerate(data):
        stage.forward(k, x, None, lambda out, target: (out * out).sum())
    shared = model.parts[0].weight
    for k in (0, 1, 2):
        stage.backward_input(k)
        wanted = data[k][0].detach().requires_grad_()
        model.plainly(wanted).square().sum().backward()
        found = data[k][0].grad
        assert found is not None and found.tolist() == wanted.grad.tolist(), (
            f"after I of micro-batch {k} the gradient of its input is {found}, expected {wanted.grad.tolist()}"
        )
        shared.grad, before = None, shared.grad  # of the plain one
        assert before is not None, "the plain product gives no gradient: this check is wrong"
    stage_notes(stage, model, data)


def stage_notes(stage, model, data):
    """Each W adds its micro-batch's part, and nothing else."""
    shared, frozen, _ = (part.weight for part in model.parts)
    assert shared.grad is None
    for place, k in enumerate((1, 0, 2)):
        stage.backward_weight(k)
        found = shared.grad
        shared.grad = None
        for one in (1, 0, 2)[: place + 1]:
            model.plainly(data[one][0].detach()).square().sum().backward()
        wanted, shared.grad = shared.grad, found
        assert found is not None and found.tolist() == wanted.tolist(), (
            f"after the Ws of micro-batches {[1, 0, 2][: place + 1]} the gradient of a weight that is used twice is "
            f"{None if found is None else found.tolist()}, expected {wanted.tolist()}"
        )
    assert frozen.grad is None, "a frozen weight has a gradient"
    left = [*stage.fresh, *(note for notes in stage.late.values() for note in notes)]
    assert not left, f"{len(left)} notes are still held after the last W"


def nothing_yet():
    """After I the weights have no gradient, also where x needs none."""
    for needs in (True, False):
        product = zero_bubble.Product(nn.Parameter(torch.ones(2, 2)))
        stage = zero_bubble.Stage(product, 2)
        x = torch.ones(1, 2, requires_grad=needs)
        stage.forward(0, x, None, lambda out, target: out.sum())
        stage.backward_input(0)
        assert product.weight.grad is None, (
            f"after I the weight has the gradient {product.weight.grad.tolist()}: this is the work that W shall do later"
        )
        stage.backward_weight(0)
        assert (
            product.weight.grad is not None and product.weight.grad.tolist() == [[1.0, 1.0]] * 2
        ), (
            f"x = [[1, 1]]{'' if needs else ', which needs no gradient'}, the sum as loss: after W the gradient is "
            f"{product.weight.grad}, expected ones"
        )


@lamp("split")
def split():
    """I gives the input's gradient and nothing to the weights; W gives the rest: shared and frozen weights, W in any order."""
    sim.run(nothing_yet, 1)
    sim.run(two_halves, 1)


@lamp("correct")
def right():
    """1, 2, 3 and 5 stages end with the weights of one rank, bit for bit; with your order, and with undivided backwards."""
    for ranks, count, *_ in PIPES:
        pipelines.trained(Split, zero_bubble.zero_bubble, ranks, count)
    pipelines.trained(Split, one_forward_one_backward, 3, 4)


@lamp("never stuck")
def stuck():
    """Every send waits for its receive."""
    for ranks, count, *_ in PIPES:
        pipelines.trained(Split, zero_bubble.zero_bubble, ranks, count, strictly=True)


@lamp("in the library", star=2)
def plugged():
    """Your order, carried out by the library's own pipeline; also with fewer micro-batches than stages."""
    for count in (2, 4):
        pipelines.in_the_library(zero_bubble.zero_bubble, 3, count)


# ------------------------------------------------------------------------------ what it costs


class Work(pipelines.TimedWork):
    """1 ms forward, 1 ms for I and 1 ms for W, which needs what was kept."""

    noted = {"forward": F, "backward_input": I, "backward_weight": W}

    def __init__(self):
        super().__init__()
        self.product = zero_bubble.Product(nn.Parameter(torch.ones(1, 1, dtype=torch.float64)))

    def computed(self, x):
        return self.product(x)


def timed(pipe, message=0, make=None):
    """With your stage, in virtual time: F, I and W take 1 ms each, and a message so many."""
    wire = Network(Uniform(Link(0, 0, message * 10**9)))  # many messages may be on it at once
    net = wire if message else pipelines.FREE
    made = make or (lambda rank, pipe: zero_bubble.zero_bubble(rank, pipe, message))
    return pipelines.timed(zero_bubble.Stage, made, pipe, net, Work)


def least(pipe, message=0):
    """The last stage begins after S-1 forwards and messages and is busy for 3M. And stage 0 gets its first I
    after 2S-1 and twice as many messages; of all that is not forward nothing can be done before."""
    hops = pipe.ranks - 1
    from_the_last = 3 * pipe.microbatches + hops * (1 + message)
    return max(from_the_last, 2 * hops + 1 + 2 * hops * message + 2 * pipe.microbatches)


@lamp("bubble", star=3)
def bubble():
    """Messages are free: no order with these halves takes less."""
    worst = max((timed(pipe) for pipe in PIPES), key=lambda found: found.total / least(found.pipe))
    where = f"{worst.pipe.ranks} stages, {worst.pipe.microbatches} micro-batches"
    return MeasuredCost(worst.total, least(worst.pipe), unit=" ms", where=where)


@lamp("memory", star=3)
def memory():
    """No stage holds more micro-batches than the first stage of 1F1B: S. A micro-batch is held until its W."""
    places = [(timed(pipe), stage) for pipe in PIPES for stage in range(pipe.ranks)]
    found, stage = max(places, key=lambda place: place[0].held[place[1]] / place[0].pipe.ranks)
    where = f"stage {stage} of {found.pipe.ranks}, {found.pipe.microbatches} in all"
    return MeasuredCost(
        found.held[stage], found.pipe.ranks, 1.0, " micro-batches", where, "1F1B's first stage"
    )


def on_paper(pipe, message):
    """In quarters of a forward."""
    orders = everyones(lambda rank, pipe: zero_bubble.zero_bubble(rank, pipe, message), pipe)
    for fault in faults(orders, pipe):
        raise AssertionError(
            f"stages: {pipe.ranks}, micro-batches: {pipe.microbatches}, a message of {message}: {fault}"
        )
    cost = {kind: 4 * length for kind, length in pipelines.LONG.items()}
    return times(orders, pipe, cost, round(4 * message))


@lamp("messages", star=3)
def messages():
    """A message takes 0.25 to 3 forwards: the last stage never waits once it has begun. Measured, and on paper."""
    found = []
    for pipe in LONG_PIPES:
        for message in MESSAGES:
            where = f"{pipe.ranks} stages, {pipe.microbatches} micro-batches, a message takes {message} forwards"
            total = on_paper(pipe, message).total / 4
            found.append(MeasuredCost(total, least(pipe, message), unit=" ms", where=where))
    for message in (1, 2):
        total = timed(LONG_PIPES[1], message).total
        where = f"measured with your stage: 3 stages, 20 micro-batches, messages of {message} ms"
        found.append(MeasuredCost(total, least(LONG_PIPES[1], message), unit=" ms", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("held", star=3)
def held():
    """To hide messages, 1 + (S-1)(1 + ⌈message⌉) micro-batches on a stage are enough."""
    found = []
    for pipe in LONG_PIPES:
        for message in MESSAGES:
            timing, enough = (
                on_paper(pipe, message),
                1 + (pipe.ranks - 1) * (1 + math.ceil(message)),
            )
            for stage in range(pipe.ranks):
                where = f"stage {stage} of {pipe.ranks}, {pipe.microbatches} micro-batches, a message takes {message} forwards"
                most = timing.in_flight(stage)
                found.append(MeasuredCost(most, enough, 1.0, " micro-batches", where, "enough"))
    return max(found, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ------------------------------------------------------------------------------------ questions


def total_of_zero_bubble():
    return timed(Pipe(4, 8)).total


def ahead_where_messages_take_two():
    order = zero_bubble.zero_bubble(0, Pipe(4, 30), 2)
    return next(place for place, action in enumerate(order) if action.kind is not order[0].kind)


# -------------------------------------------------------------------------------------- picture


def picture():
    """1F1B above, your order below, measured; then the same with messages of 1 ms."""
    pipe, lines = Pipe(3, 5), []
    for message in (0, 1):
        for title, make in (("1F1B", one_forward_one_backward), ("zero bubble", None)):
            found = timed(pipe, message, make)
            lines += [
                f"{title}, messages of {message} ms: {found.total} ms, at least {least(pipe, message)}"
            ]
            lines += [row(rank, found, stage) for stage, rank in enumerate(found.timing.rows)]
            lines.append("")
    return "\n".join([*lines, "0 1 2 …: forward   a b c …: its I   A B C …: its W   ·: idle"])


def row(spans, found, stage):
    """A cell for each ms; 1F1B's backwards are an I and a W with nothing in between."""
    cells = ["·"] * found.total
    for span in spans:
        kind, k = span.action.kind, span.action.microbatch
        cells[span.begin] = str(k) if kind is F else "abcdefgh"[k] if kind is I else "ABCDEFGH"[k]
    return f"stage {stage} │{' '.join(cells)}  holds {found.held[stage]}"
