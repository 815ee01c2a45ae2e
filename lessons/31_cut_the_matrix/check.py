"""Lesson 31: P ranks compute what one computes, number for number; they hold a P-th, and send four sums in a block."""

import cut

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.testing.strictness import plainly, strict
from mtd.course import MeasuredCost, lab, lamp, real_wires, small_transformer as small
from mtd.course.loading import beside
from mtd.course.whole_numbers import compare, linear, my_part, whole_numbers

blocks = beside(__file__, "blocks")
trained = beside(__file__, "trained")
costs = beside(__file__, "costs")

SIZES = (1, 2, 3, 5, 8)


# ----------------------------------------------------------------------- pieces


@lamp("pieces")
def pieces():
    """Columns and Rows have this rank's piece, in memory of its own; unequal parts are refused in words."""
    for size in SIZES:
        sim.run(parts, size)
        sim.run(cuts, size)
    for size, length in ((2, 3), (3, 7), (5, 4), (8, 12)):
        sim.run(refused, size, (length,))


def parts():
    rank, size = dist.get_rank(), dist.get_world_size()
    for each in (0, 1, 3):
        found, wanted = cut.part(each * size, "columns"), slice(rank * each, (rank + 1) * each)
        assert isinstance(found, slice), f"part({each * size}, …) is {found!r}, expected a slice"
        numbers = range(each * size)
        assert numbers[found] == numbers[wanted], (
            f"{lab.ranks(size)}, {each * size} columns: rank {rank} has {found}, expected {wanted}"
        )


def cuts():
    size = dist.get_world_size()
    for dtype in (torch.float64, torch.float32):
        layer = linear(2 * size, 3 * size, dtype=dtype)
        columns, rows = cut.Columns(layer), cut.Rows(layer)
        compare(columns.weight, my_part(layer.weight), "the weight of Columns")
        compare(columns.bias, my_part(layer.bias), "the bias of Columns")
        compare(rows.weight, my_part(layer.weight, 1), "the weight of Rows")
        for owner, name in ((columns, "weight"), (columns, "bias"), (rows, "weight")):
            p, where = (
                getattr(owner, name),
                f"{lab.ranks(size)}: the {name} of {type(owner).__name__}",
            )
            assert isinstance(p, nn.Parameter), (
                f"{where} is a {type(p).__name__}, expected an nn.Parameter"
            )
            held = p.untyped_storage().nbytes()
            assert held == p.nbytes, (
                f"{where} shows {p.nbytes} bytes and keeps {held} in memory, because it is a view of the whole"
            )


def refused(length):
    size = dist.get_world_size()
    layers = linear(2, length), linear(length, 2)
    for what, make in (
        (f"part({length}, 'columns')", lambda: cut.part(length, "columns")),
        (f"Columns of {length} outputs", lambda: cut.Columns(layers[0])),
        (f"Rows of {length} inputs", lambda: cut.Rows(layers[1])),
    ):
        try:
            found = make()
        except ValueError as error:
            missing = [n for n in (length, size) if str(n) not in str(error)]
            assert not missing, (
                f"{what} on {size} ranks: the ValueError says {str(error)!r}, without {missing[0]}"
            )
        else:
            raise AssertionError(
                f"{what} on {size} ranks is {found!r}, expected a ValueError: parts would be unequal"
            )


# ----------------------------------------------------------------------- enter and leave


@lamp("enter and leave")
def pair():
    """Both ways of both, on whole numbers; nobody's tensor is written to."""
    for size in SIZES:
        for dtype in (torch.float64, torch.float32):
            sim.run(both, size, (dtype,))


def both(dtype):
    rank, size = dist.get_rank(), dist.get_world_size()
    numbers = torch.arange(6, dtype=dtype).view(3, 2)
    mine, total = numbers + 10 * rank, size * numbers + 10 * (size * (size - 1) // 2)
    for function, forward, backward in ((cut.Enter, mine, total), (cut.Leave, total, mine)):
        name = function.__name__
        x = mine.clone().requires_grad_()
        y = function.apply(x)
        compare(y, forward, f"the result of {name}")
        grad = mine.clone()
        y.backward(grad)
        compare(x.grad, backward, f"the gradient behind {name}")
        compare(x, mine, f"the tensor that was given to {name}.forward, afterwards,")
        compare(grad, mine, f"the gradient that was given to {name}.backward, afterwards,")


# ----------------------------------------------------------------------- blocks


@lamp("correct")
def correct():
    """MLP: the result and each gradient are those of one rank, number for number."""
    for size in SIZES:
        sim.run(blocks.is_same_as_one_rank, size, (blocks.mlp,))


@lamp("heads")
def heads():
    """Attention: the same, with several heads on each rank; heads that cannot be shared equally are refused."""
    for size in SIZES:
        sim.run(blocks.is_same_as_one_rank, size, (blocks.attention,))
    for size, count in ((2, 3), (4, 6), (3, 4)):
        sim.run(heads_refused, size, (count,))


def heads_refused(count):
    width = count * dist.get_world_size()
    columns, rows = [cut.Columns(linear(2, width)) for _ in range(3)], cut.Rows(linear(width, 2))
    try:
        cut.Attention(*columns, rows, count, torch.relu)
    except ValueError as error:
        assert str(count) in str(error), (
            f"{count} heads: the ValueError says {str(error)!r}, without {count}"
        )
    else:
        raise AssertionError(
            f"{count} heads on {dist.get_world_size()} ranks were taken, expected a ValueError: a head would lie on two ranks"
        )


@lamp("rows")
def rows():
    """Norm, MLP and Attention in rows; and rows that cannot be cut equally are refused."""
    for size in SIZES:
        sim.run(moves, size)
        for block in (blocks.norm, blocks.mlp, blocks.attention):
            sim.run(blocks.is_same_as_one_rank, size, (block, True))
    for size in (2, 3):
        sim.run(rows_refused, size)


def moves():
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in (torch.float64, torch.float32):
        whole = whole_numbers(2 * size, 3, seed=30, dtype=dtype)
        mine, summand = my_part(whole).clone(), whole + rank
        compare(cut.all_rows(mine), whole, "all_rows")
        total = size * whole + size * (size - 1) // 2
        compare(cut.sum_of_my_rows(summand), my_part(total), "sum_of_my_rows")
        compare(summand, whole + rank, "the summand, afterwards,")
        for function, given, forward, grad, backward in (
            (cut.EnterRows, mine, whole, summand, my_part(total)),
            (cut.LeaveRows, summand, my_part(total), mine, whole),
        ):
            x = given.clone().requires_grad_()
            y = function.apply(x)
            compare(y, forward, f"the result of {function.__name__}")
            y.backward(grad)
            compare(x.grad, backward, f"the gradient behind {function.__name__}")


def rows_refused():
    size = dist.get_world_size()
    try:
        found = cut.sum_of_my_rows(torch.ones(size + 1, 2))
    except ValueError as error:
        assert str(size + 1) in str(error), (
            f"{size + 1} rows: the ValueError says {str(error)!r}, without {size + 1}"
        )
    else:
        raise AssertionError(
            f"{size + 1} rows on {size} ranks became {tuple(found.shape)}, expected a ValueError: a row would be lost"
        )


@lamp("never stuck", star=2)
def stuck():
    """Every send waits for its receive; also with frozen layers, and with an input that wants no gradient."""
    for size in (1, 2, 3, 5):
        for in_rows in (False, True):
            try:
                with strict():
                    sim.run(blocks.frozen_in_part, size, (in_rows,))
            except sim.Deadlock as error:
                raise AssertionError(
                    f"{lab.ranks(size)}{', in rows' * in_rows}: {plainly(str(error))}"
                ) from error


# ----------------------------------------------------------------------- trains


@lamp("trains", star=2)
def trains():
    """1, 2, 3, 4 and 6 ranks end with the weights of one rank, bit for bit; and each step's, before they are rounded."""
    steps = trained.alone()
    for size in (1, 2, 3, 4, 6):
        for in_rows in (False, True):
            ranks = sim.run(trained.train, size, (in_rows,)).results
            for number, wanted in enumerate(steps):
                trained.judge(number + 1, wanted, [rank[number] for rank in ranks], size, in_rows)


# ----------------------------------------------------------------------- in the library


@lamp("in the library", star=2)
def in_the_library():
    """A small transformer that the library's parallelize_module cuts with your blocks has the losses of one rank."""
    (wanted,) = sim.run(small.losses, 1).results
    for size in (1, 2, 3):
        for rank, found in enumerate(sim.run(small.losses, size, (trained.PLAN,)).results):
            for step, (mine, alone) in enumerate(zip(found, wanted, strict=True), 1):
                assert abs(mine - alone) < 1e-9, (
                    f"a transformer of 2 blocks on {lab.ranks(size)}: on rank {rank} the loss of step {step} is {mine:.9f}, "
                    f"and {alone:.9f} on one rank"
                )


# ----------------------------------------------------------------------- what it costs


@lamp("bytes")
def bytes_of_a_block():
    """Attention and MLP, there and back: 4 all_reduces of all activations; in rows as much, and the gradients of two biases."""
    found = []
    for size in (2, 3, 4, 8):
        for in_rows in (False, True):
            least = (
                4 * 2 * (size - 1) / size * costs.S * costs.W * 8
                + in_rows * 2 * 2 * (size - 1) / size * costs.W * 8
            )
            where = f"{size} ranks{', in rows' * in_rows}, attention and an MLP for {costs.S} tokens of {costs.W} features, forward and backward"
            found.append(MeasuredCost(costs.sent(size, in_rows), least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("messages", star=3)
def messages_of_a_block():
    """The messages are those of 4 all_reduces: one in forward and one in backward for each part of a block."""

    def one():
        dist.all_reduce(torch.ones(costs.S, costs.W, dtype=torch.float64))

    found = []
    for size in (2, 3):
        least, mine = (
            max(rank.messages for rank in sim.run(program, size, arguments, net=costs.FREE).ranks)
            for program, arguments in ((one, ()), (costs.a_block, (False,)))
        )
        found.append(
            MeasuredCost(
                mine, 4 * least, unit=" messages", where=f"{size} ranks, attention and an MLP"
            )
        )
    return max(found, key=lambda cost: cost.ratio)


@lamp("memory")
def memory():
    """Of the parameters of an MLP: a P-th of both matrices and of the first bias, and all of the second bias."""
    found = []
    for size in (2, 4, 8):
        least = 8 * ((2 * 4 * costs.W * costs.W + 4 * costs.W) / size + costs.W)
        where = f"{size} ranks, an MLP of {costs.W}, {4 * costs.W} and {costs.W} features, after it was cut"
        found.append(MeasuredCost(costs.held(size, False)[0], least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("activations", star=3)
def activations():
    """An MLP in rows keeps a P-th of all for backward, and the first matrix's input, whose rows were gathered."""
    found = []
    for size in (2, 4, 8):
        least = 8 * costs.S * costs.W * (1 + 5 / size)
        where = (
            f"{size} ranks, after forward of an MLP in rows, {costs.S} tokens of {costs.W} features"
        )
        found.append(MeasuredCost(costs.held(size, True)[1], least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ----------------------------------------------------------------------- questions, and a picture


def bytes_on_four():
    return costs.sent(4)


def inputs_on_eight():
    return costs.held(8, True)[1] / (8 * costs.S * costs.W)


def picture():
    """An MLP on three ranks: which numbers each of them has, there and back."""
    found = sim.run(blocks.looked_at, 3).results
    lines = ["An MLP cut over 3 ranks: 1 token, 2 features, 6 hidden ones, 2 results", ""]
    names = [*found[0]]
    wide = [max(len(name), *(len(rank[name]) for rank in found)) for name in names]
    for told in [dict(zip(names, names, strict=True)), *found]:
        row = "  ".join(f"{told[name]:{width}}" for name, width in zip(names, wide, strict=True))
        lines.append(row.rstrip())
    return "\n".join([*lines, "", *LEGEND])


LEGEND = (
    "forward    leave makes y of the summands, and the bias is added once",
    "backward   enter makes dx, the gradient of x, of the shares",
    "·          a hidden feature of another rank",
)
