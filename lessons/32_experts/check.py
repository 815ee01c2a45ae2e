"""Lesson 32: what one rank that has all experts computes, number for number; and each row that leaves is sent once each way."""

import experts
import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.optim import SGD
from minitorch_dist.testing.strictness import plainly, strict
from mtd.course import MeasuredCost, lab, lamp, real_wires, small_transformer as small
from mtd.course.loading import beside
from mtd.course.whole_numbers import whole_numbers

layers = beside(__file__, "layers")
exchanges = beside(__file__, "exchanges")
trained = beside(__file__, "trained")

SIZES = (1, 2, 3, 5, 8)
FREE = sim.Hockney(0, "100Gb/s")


# ----------------------------------------------------------------------- who goes where


@lamp("choice")
def choice():
    """The largest weights first, and of equal ones the lower number."""
    weights = [[0.0, 3.0, 1.0, 3.0], [-1.0, -2.0, -1.0, -3.0], [5.0, 5.0, 5.0, 5.0]]
    for k, wanted in (
        (1, [[1], [0], [0]]),
        (2, [[1, 3], [0, 2], [0, 1]]),
        (4, [[1, 3, 2, 0], [0, 2, 1, 3], [0, 1, 2, 3]]),
    ):
        found = [
            [int(expert) for expert in row] for row in experts.choose(torch.tensor(weights), k)
        ]
        assert found == wanted, (
            f"weights {weights}: choose(…, {k}) gives {found}, expected {wanted}"
        )
    found = [*experts.choose(torch.zeros(0, 4), 2)]
    assert found == [], f"without a token choose gives {found}, expected an empty list"


@lamp("seats")
def seats():
    """Nobody is left out below the capacity; above it the later ones are, and second choices after all first ones."""
    for arguments, wanted in (
        ((8, 2, 4, 1.0), 4), ((8, 2, 4, 1.25), 5), ((7, 2, 4, 1.0), 4), ((6, 1, 4, 1.0), 2), ((1, 1, 8, 1.0), 1), ((0, 2, 4, 1.0), 0),
    ):  # fmt: skip
        found = experts.capacity(*arguments)
        tokens, k, count, factor = arguments
        assert found == wanted, (
            f"{tokens} tokens, {k} choices each, {count} experts, factor {factor}: the capacity is {found}, expected {wanted}"
        )
    everybody = [[0, 1], [0, 2], [0, 1], [1, 0]]
    for most, wanted in (
        (4, [[0, 1, 2, 3], [3, 0, 2], [1]]),
        (3, [[0, 1, 2], [3, 0, 2], [1]]),
        (2, [[0, 1], [3, 0], [1]]),
        (1, [[0], [3], [1]]),
        (0, [[], [], []]),
    ):
        found = [[*map(int, seat)] for seat in experts.assign(everybody, 3, most)]
        assert found == wanted, (
            f"4 tokens choose {everybody}, at most {most} to an expert: assign gives {found}, expected {wanted}"
        )
    assert experts.assign([], 2, 3) == [[], []], "without a token no expert has one"


# ----------------------------------------------------------------------- there and back


@lamp("exchange")
def exchange():
    """Counts and rows of uneven parts, some of them empty; a gradient goes the same way back."""
    for size in SIZES:
        sim.run(exchanges.counts, size)
        for dtype in (torch.float64, torch.float32):
            sim.run(exchanges.there_and_back, size, (dtype,))
    for came in ([[2, 1], [1, 3]], [[1], [0], [2]], [[0, 0]]):
        found, wanted = [[*mine] for mine in experts.places_of(came)], exchanges.places(came)
        assert found == wanted, (
            f"rows that came, by rank and expert: {came}; places_of gives {found}, expected {wanted}"
        )


@lamp("combine")
def weighted():
    """Each row with its own weight, in any order; nothing for a token that no expert took; gradients of both."""
    rows, weights = whole_numbers(4, 2, seed=1), whole_numbers(3, 3, seed=2, most=4)
    for tokens, numbers in (
        ([0, 2, 0, 2], [1, 0, 2, 2]),
        ([2, 0, 2, 0], [2, 2, 0, 1]),
        ([1, 1, 0, 2], [0, 1, 0, 0]),
    ):
        sim.run(exchanges.combined, 1, (rows, weights, tokens, numbers))
    sim.run(exchanges.combined, 1, (rows[:0], weights, [], []))


# ----------------------------------------------------------------------- the layer


@lamp("correct")
def correct():
    """Results and gradients are those of one rank that has all experts, with 1 and 2 choices, below and above the capacity."""
    for size in SIZES:
        for k in (1, 2):
            for factor, kind in (
                (16.0, layers.SOME),
                (0.5, layers.SOME),
                (1.0, layers.ALL),
                (16.0, layers.NONE),
            ):
                sim.run(layers.is_same_as_one_rank, size, (k, factor, kind))
    for size, count in ((2, 3), (3, 4)):
        sim.run(layers.refused, size, (count,))


@lamp("never stuck", star=2)
def stuck():
    """Every send waits for its receive; with ranks that have no tokens, and with ranks to which nobody sends."""
    for size in (1, 2, 3, 5):
        for kind in (layers.ALL, layers.NONE, layers.SOME):
            try:
                with strict():
                    sim.run(layers.is_same_as_one_rank, size, (2, 16.0, kind))
            except sim.Deadlock as error:
                raise AssertionError(f"{lab.ranks(size)}, {kind}: {plainly(str(error))}") from error


# ----------------------------------------------------------------------- trains


@lamp("trains", star=2)
def trains():
    """1, 2, 3 and 6 ranks end with the weights of one rank, bit for bit; and each step's, before they are rounded."""
    (alone,) = sim.run(trained.train, 1).results
    for size in (2, 3, 6):
        ranks = sim.run(trained.train, size).results
        for step, wanted in enumerate(alone):
            held = [ranks[0][step][0]] + [array for rank in ranks for array in rank[step][1:]]
            routers = {rank[step][0].tobytes() for rank in ranks}
            assert len(routers) == 1, (
                f"{size} ranks: after step {step + 1} the ranks have {len(routers)} different routers"
            )
            for number, (mine, whole) in enumerate(zip(held, wanted, strict=True)):
                what = (
                    "the router"
                    if number == 0
                    else f"the {('weight', 'bias')[(number - 1) % 2]} of expert {(number - 1) // 2}"
                )
                assert mine.tobytes() == whole.tobytes(), (
                    f"{size} ranks: after step {step + 1} {what} is {np.ravel(mine).tolist()}, and {np.ravel(whole).tolist()} on "
                    "one rank. Nothing rounds here, so a gradient is missing or counted twice"
                )


@lamp("in the library", star=2)
def in_the_library():
    """A small transformer with your experts for its MLPs, by the library's parallelize_module, has one rank's losses."""
    plan = {"blocks.*.mlp": small.Yours(trained.in_experts)}
    (wanted,) = sim.run(small.losses, 1, (plan,)).results
    for size in (2, 3, 6):
        for rank, found in enumerate(sim.run(small.losses, size, (plan,)).results):
            for step, (mine, alone) in enumerate(zip(found, wanted, strict=True), 1):
                assert abs(mine - alone) < 1e-9, (
                    f"a transformer with 6 experts on {size} ranks: on rank {rank} the loss of step {step} is {mine:.9f}, and "
                    f"{alone:.9f} on one rank"
                )


# ----------------------------------------------------------------------- balance


@lamp("balance")
def balanced():
    """The loss and its gradient, number for number; and 60 steps with it alone give no expert over 1.3 times its share."""
    weights = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.0, 0.25]], dtype=torch.float64)
    for chosen, shares in (
        ([[0], [1]], [2, 2, 0, 0]),
        ([[0], [0]], [4, 0, 0, 0]),
        ([[0, 1], [1, 0]], [2, 2, 0, 0]),
    ):
        w = weights.clone().requires_grad_()
        found = experts.balance(w, chosen)
        wanted = (weights * torch.tensor(shares, dtype=torch.float64) / 4).sum() * 2
        told = f"weights {weights.tolist()}, chosen {chosen}:"
        assert abs(found.item() - wanted.item()) < 1e-12, (
            f"{told} the loss is {found.item():g}, expected {wanted.item():g}"
        )
        found.backward()
        expected = torch.tensor([[share / 2 for share in shares]] * 2, dtype=torch.float64)
        assert w.grad is not None and (w.grad - expected).abs().max().item() < 1e-12, (
            f"{told} the gradient of the loss is {None if w.grad is None else w.grad.tolist()}, expected {expected.tolist()}"
        )
    return MeasuredCost(
        fullest_after(60),
        1,
        1.3,
        unit=" times an equal share",
        where="64 tokens, 4 experts, 60 steps",
    )


def fullest_after(steps):
    """Choices of the fullest expert beside an equal share. At first all tokens want the same one."""

    def program():
        torch.manual_seed(0)
        x = torch.randn(64, 4, dtype=torch.float64)
        router = nn.Parameter(torch.randn(4, 4, dtype=torch.float64) * 0.1)
        base = torch.tensor([2.0, 0.0, 0.0, 0.0], dtype=torch.float64).requires_grad_()
        optimizer = SGD([router, base], lr=0.5)
        for _ in range(steps):
            optimizer.zero_grad()
            weights = (x @ router.T + base).softmax(-1)
            experts.balance(weights, experts.choose(weights, 1)).backward()
            optimizer.step()
        chosen = [row[0] for row in experts.choose((x @ router.T + base).softmax(-1), 1)]
        return max(map(chosen.count, range(4))) / 16

    return sim.run(program, 1).results[0]


# ----------------------------------------------------------------------- what it costs


@lamp("bytes")
def bytes_of_a_step():
    """A row that leaves its rank goes there and comes back, and so does its gradient; a count is told for each expert."""
    found = []
    for size in (2, 3, 4):
        for kind in (layers.ALL, layers.SOME):
            sent = max(
                rank.bytes_sent for rank in sim.run(layers.a_step, size, (kind, 2), net=FREE).ranks
            )
            where = f"{size} ranks, 2 choices, {kind}, forward and backward"
            found.append(
                MeasuredCost(sent, layers.least_bytes(size, kind, 2), unit=" bytes", where=where)
            )
    return max(found, key=lambda cost: cost.ratio)


@lamp("memory")
def memory():
    """Of the parameters of 8 experts: a P-th, and the router."""

    def program():
        layers = [nn.Linear(16, 16, dtype=torch.float64).to("cuda") for _ in range(8)]
        router = torch.zeros(8, 16, dtype=torch.float64, device="cuda")
        layer = experts.Experts(router, layers, 1, 1.0, torch.relu)
        del layers, router
        return cuda.memory_allocated(), layer.k

    found = []
    for size in (2, 4, 8):
        held = max(each[0] for each in sim.run(program, size, memory="1GB").results)
        least = 8 * (8 / size * (16 * 16 + 16) + 8 * 16)
        found.append(MeasuredCost(held, least, unit=" bytes", where=f"{size} ranks, 8 experts"))
    return max(found, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ----------------------------------------------------------------------- questions, and a picture


class Slow(nn.Module):
    """An expert that takes 1 ms for each row."""

    def forward(self, rows):
        sim.compute(f"{len(rows)}ms")
        return rows


def milliseconds(kind, factor):
    """Of a forward with 4 ranks of one expert, 12 tokens each, and free messages."""

    def program():
        router = (
            torch.eye(4, dtype=torch.float64)
            if kind == "balanced"
            else torch.ones(4, 4, dtype=torch.float64)
        )
        layer = experts.Experts(router, [Slow() for _ in range(4)], 1, factor, torch.relu)
        layer(torch.eye(4, dtype=torch.float64).repeat(3, 1))

    return sim.run(program, 4, net=sim.uniform("0s", "1000TB/s")).time // 10**9


def all_to_one():
    return milliseconds(layers.ALL, 4.0)


def all_to_one_with_a_capacity():
    return milliseconds(layers.ALL, 1.25)


def picture():
    """Four tokens on each of two ranks: where each goes, and which are left out."""
    lines = ["2 ranks, 2 experts each; 4 tokens on each rank, 2 choices; capacity 2 (factor 1)", ""]
    lines.append(
        f"{'':9}{'token':7}{'choices':10}{'expert 0':10}{'expert 1':10}{'expert 2':10}expert 3"
    )
    for rank, rows in enumerate(sim.run(looked_at, 2).results):
        for token, (choices, went) in enumerate(rows):
            lines.append(
                (
                    f"{f'rank {rank}' * (token == 0):9}{token:<7}{choices:10}"
                    + "".join(f"{one:10}" for one in went)
                ).rstrip()
            )
    return "\n".join([*lines, "", "on rank  0         0         1         1".rjust(62), "", LEGEND])


LEGEND = "1st, 2nd: taken as this token's first or second choice   full: left out"


def looked_at():
    rank = dist.get_rank()
    router, x = (
        whole_numbers(4, layers.FEATURES, seed=5),
        whole_numbers(4, layers.FEATURES, seed=40 + rank, most=3),
    )
    weights = (x @ router.T).relu()
    chosen = experts.choose(weights, 2)
    taken = experts.assign(chosen, 4, experts.capacity(4, 2, 4, 1.0))
    found = []
    for token, choices in enumerate(chosen):
        went = [
            "·"
            if expert not in choices
            else ("1st", "2nd")[choices.index(expert)]
            if token in taken[expert]
            else "full"
            for expert in range(4)
        ]
        found.append((", ".join(map(str, choices)), went))
    return found
