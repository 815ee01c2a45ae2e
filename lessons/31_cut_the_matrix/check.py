"""Lesson 31: P ranks compute what one computes, number for number; they hold a P-th, and send four sums in a block."""

import cut
import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from minitorch_dist.testing.strictness import plainly, strict
from mtd.course import MeasuredCost, lab, lamp, real_wires, small_transformer as small
from mtd.course.whole_numbers import compare, linear, my_part, whole_numbers

SIZES = (1, 2, 3, 5, 8)
FREE = sim.Hockney(0, "100Gb/s")  # without latency the library takes what sends least


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


def mlp(size):
    layers = linear(3, 2 * size, 1), linear(2 * size, 4, 2)

    def alone(x):
        return layers[1](layers[0](x).relu())

    def make(in_rows):
        return cut.MLP(cut.Columns(layers[0]), cut.Rows(layers[1]), in_rows)

    return "MLP", 3, 4, alone, make, {"first": layers[0], "second": layers[1]}


def attention(size):
    heads = 2 * size
    names = ("query", "key", "value")
    layers = {name: linear(3, 2 * heads, 3 + n) for n, name in enumerate(names)}
    layers["output"] = linear(2 * heads, 4, 6)

    def alone(x):
        seen = [layers[name](x).view(-1, heads, 2).transpose(0, 1) for name in names]
        found = (seen[0] @ seen[1].transpose(1, 2)).relu() @ seen[2]
        return layers["output"](found.transpose(0, 1).reshape(-1, 2 * heads))

    def make(in_rows):
        columns = [cut.Columns(layers[name]) for name in names]
        return cut.Attention(*columns, cut.Rows(layers["output"]), heads, torch.relu, in_rows)

    return "Attention", 3, 4, alone, make, layers


def norm(size):
    gain = whole_numbers(3, seed=8)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(gain.clone())

        def forward(self, x):
            return squared(x) * self.gain

    whole = Whole()
    return "Norm", 3, 3, whole, lambda in_rows: cut.Norm(gain, squared, in_rows), {"": whole}


def squared(x):
    return x * x + x


def is_same_as_one_rank(make_block, in_rows=False):
    """Twice forward and backward, so that gradients have to add up; then without gradients."""
    size = dist.get_world_size()
    name, inputs, outputs, alone, make, layers = make_block(size)
    tokens = 2 * size
    x, grad = whole_numbers(tokens, inputs, seed=20), whole_numbers(tokens, outputs, seed=21)
    whole_x, mine = x.clone().requires_grad_(), my_part(x) if in_rows else x
    mine = mine.clone().requires_grad_()
    block, wanted = make(in_rows), alone(whole_x)
    told = f"{name}{' in rows' * in_rows}"
    for count in (1, 2):
        found = block(mine)
        compare(found, my_part(wanted) if in_rows else wanted, f"the result of {told}")
        found.backward(my_part(grad) if in_rows else grad)
        wanted.backward(grad, retain_graph=True)
        behind = f"after {'one backward' if count == 1 else 'two backwards'} through {told} the gradient of"
        compare(
            mine.grad, my_part(whole_x.grad) if in_rows else whole_x.grad, f"{behind} the input"
        )
        for path, p in block.named_parameters():
            compare(p.grad, piece(path, p, layers), f"{behind} {path}")
    block.eval()
    with torch.no_grad():
        compare(
            block(mine),
            my_part(wanted) if in_rows else wanted,
            f"without gradients, the result of {told}",
        )


def piece(path, p, layers):
    """The place of this parameter in one rank's gradient."""
    owner, _, name = path.rpartition(".")
    whole = getattr(layers[owner], name).grad
    for dim in range(whole.ndim):
        if whole.shape[dim] != p.shape[dim]:
            return my_part(whole, dim)
    return whole


@lamp("correct")
def correct():
    """MLP: the result and each gradient are those of one rank, number for number."""
    for size in SIZES:
        sim.run(is_same_as_one_rank, size, (mlp,))


@lamp("heads")
def heads():
    """Attention: the same, with several heads on each rank; heads that cannot be shared equally are refused."""
    for size in SIZES:
        sim.run(is_same_as_one_rank, size, (attention,))
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
        for block in (norm, mlp, attention):
            sim.run(is_same_as_one_rank, size, (block, True))
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
                    sim.run(frozen_in_part, size, (in_rows,))
            except sim.Deadlock as error:
                raise AssertionError(
                    f"{lab.ranks(size)}{', in rows' * in_rows}: {plainly(str(error))}"
                ) from error


def frozen_in_part(in_rows):
    size = dist.get_world_size()
    for make_block in (mlp, attention):
        _, inputs, outputs, alone, make, _ = make_block(size)
        x, grad = whole_numbers(size, inputs), whole_numbers(size, outputs, seed=1)
        for frozen in ("first", "second", "query", "key", "value", "output", "input", ""):
            block = make(in_rows)
            mine = (my_part(x) if in_rows else x).clone().requires_grad_(frozen != "input")
            whole = x.clone().requires_grad_()
            for name, child in block.named_children():
                child.requires_grad_(name != frozen)
            block(mine).backward(my_part(grad) if in_rows else grad)
            alone(whole).backward(grad)
            told = f"{type(block).__name__}, of which {frozen or 'nothing'} is frozen, the gradient of the input"
            if frozen != "input":
                compare(mine.grad, my_part(whole.grad) if in_rows else whole.grad, f"with {told}")


# ----------------------------------------------------------------------- trains


@lamp("trains", star=2)
def trains():
    """1, 2, 3, 4 and 6 ranks end with the weights of one rank, bit for bit; and each step's, before they are rounded."""
    steps = alone()
    for size in (1, 2, 3, 4, 6):
        for in_rows in (False, True):
            ranks = sim.run(train, size, (in_rows,)).results
            for number, wanted in enumerate(steps):
                judge(number + 1, wanted, [rank[number] for rank in ranks], size, in_rows)


BATCHES = (36, 24, 12)


def whole_model():
    model = exact.Model(hidden=24)
    first, second = nn.Linear(2, 24, dtype=torch.float64), nn.Linear(24, 1, dtype=torch.float64)
    for layer, w, b in ((first, model.w1, model.b1), (second, model.w2, model.b2)):
        layer.weight.data.copy_(w.detach().T)
        layer.bias.data.copy_(b.detach())
    return first, second


def alone():
    first, second = whole_model()
    return stepped(nn.Sequential(first, nn.ReLU(), second), lambda t: t)


def train(in_rows):
    first, second = whole_model()
    model = cut.MLP(cut.Columns(first), cut.Rows(second), in_rows)
    return stepped(model, my_part if in_rows else lambda t: t)


def stepped(model, mine):
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=0.5)
    with exact.watched() as steps:
        for seed, count in enumerate(BATCHES):
            batch = exact.data(count, seed)
            exact.step(model, optimizer, exact.Data(mine(batch.x), mine(batch.y)))
    return steps


def judge(step, wanted, ranks, size, in_rows):
    """The pieces of all ranks, put together, beside the whole. A bias of Rows is on each rank."""
    names = ("first.weight", "first.bias", "second.weight", "second.bias")
    for number, name in enumerate(names):
        held = [rank[number] for rank in ranks]
        joined = (
            held[0]
            if name == "second.bias"
            else np.concatenate(held, axis=int(name == "second.weight"))
        )
        same = (each.tobytes() == held[0].tobytes() for each in held)
        assert name != "second.bias" or all(same), (
            f"{lab.ranks(size)}{', in rows' * in_rows}: after step {step} the ranks have different {name}: "
            f"{', '.join(str(each.tolist()) for each in held)}"
        )
        if joined.tobytes() == np.ascontiguousarray(wanted[number]).tobytes():
            continue
        place = tuple(int(n) for n in np.argwhere(joined != wanted[number])[0])
        raise AssertionError(
            f"{lab.ranks(size)}{', in rows' * in_rows}: after step {step} {name}{list(place)} is {float(joined[place])!r}, and "
            f"{float(wanted[number][place])!r} on one rank. Nothing rounds here, so a gradient is missing or counted twice"
        )


# ----------------------------------------------------------------------- in the library


def cut_mlp(module):
    return cut.MLP(cut.Columns(module[0]), cut.Rows(module[2]))


def cut_attention(module):
    columns = [cut.Columns(layer) for layer in (module.query, module.key, module.value)]
    return cut.Attention(*columns, cut.Rows(module.output), small.HEADS, small.causal)


PLAN = {"blocks.*.mlp": small.Yours(cut_mlp), "blocks.*.attention": small.Yours(cut_attention)}


@lamp("in the library", star=2)
def in_the_library():
    """A small transformer that the library's parallelize_module cuts with your blocks has the losses of one rank."""
    (wanted,) = sim.run(small.losses, 1).results
    for size in (1, 2, 3):
        for rank, found in enumerate(sim.run(small.losses, size, (PLAN,)).results):
            for step, (mine, alone) in enumerate(zip(found, wanted, strict=True), 1):
                assert abs(mine - alone) < 1e-9, (
                    f"a transformer of 2 blocks on {lab.ranks(size)}: on rank {rank} the loss of step {step} is {mine:.9f}, "
                    f"and {alone:.9f} on one rank"
                )


# ----------------------------------------------------------------------- what it costs

S, W, H = 24, 48, 24  # tokens, features, heads


def make_layers(where="cpu"):
    def wide(inputs, outputs):
        return nn.Linear(inputs, outputs, dtype=torch.float64).to(where)

    columns = [cut.Columns(wide(W, W)) for _ in range(3)]
    yield lambda in_rows: cut.Attention(*columns, cut.Rows(wide(W, W)), H, torch.relu, in_rows)
    yield lambda in_rows: cut.MLP(cut.Columns(wide(W, 4 * W)), cut.Rows(wide(4 * W, W)), in_rows)


def a_block(in_rows):
    tokens = S // dist.get_world_size() if in_rows else S
    x = torch.ones(tokens, W, dtype=torch.float64, requires_grad=True)
    for make in make_layers():
        x = x + make(in_rows)(x)
    x.sum().backward()


def sent(size, in_rows=False):
    return max(rank.bytes_sent for rank in sim.run(a_block, size, (in_rows,), net=FREE).ranks)


@lamp("bytes")
def bytes_of_a_block():
    """Attention and MLP, there and back: 4 all_reduces of all activations; in rows as much, and the gradients of two biases."""
    found = []
    for size in (2, 3, 4, 8):
        for in_rows in (False, True):
            least = (
                4 * 2 * (size - 1) / size * S * W * 8 + in_rows * 2 * 2 * (size - 1) / size * W * 8
            )
            where = f"{size} ranks{', in rows' * in_rows}, attention and an MLP for {S} tokens of {W} features, forward and backward"
            found.append(MeasuredCost(sent(size, in_rows), least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("messages", star=3)
def messages_of_a_block():
    """The messages are those of 4 all_reduces: one in forward and one in backward for each part of a block."""

    def one():
        dist.all_reduce(torch.ones(S, W, dtype=torch.float64))

    found = []
    for size in (2, 3):
        least, mine = (
            max(rank.messages for rank in sim.run(program, size, arguments, net=FREE).ranks)
            for program, arguments in ((one, ()), (a_block, (False,)))
        )
        found.append(
            MeasuredCost(
                mine, 4 * least, unit=" messages", where=f"{size} ranks, attention and an MLP"
            )
        )
    return max(found, key=lambda cost: cost.ratio)


def held(size, in_rows):
    """Bytes of the parameters of an MLP on a rank, and of what its forward leaves for backward."""

    def program():
        *_, make = make_layers("cuda")
        before = cuda.memory_allocated()
        block = make(in_rows)
        parameters = cuda.memory_allocated() - before
        x = torch.ones(
            S // (size if in_rows else 1), W, dtype=torch.float64, device="cuda", requires_grad=True
        )
        given, before = x + x, cuda.memory_allocated()
        before -= given.nbytes
        y = given + block(given)
        del given
        return parameters, cuda.memory_allocated() - before, y.shape

    return max((found[:2] for found in sim.run(program, size, memory="1GB").results), key=max)


@lamp("memory")
def memory():
    """Of the parameters of an MLP: a P-th of both matrices and of the first bias, and all of the second bias."""
    found = []
    for size in (2, 4, 8):
        least = 8 * ((2 * 4 * W * W + 4 * W) / size + W)
        where = f"{size} ranks, an MLP of {W}, {4 * W} and {W} features, after it was cut"
        found.append(MeasuredCost(held(size, False)[0], least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("activations", star=3)
def activations():
    """An MLP in rows keeps a P-th of all for backward, and the first matrix's input, whose rows were gathered."""
    found = []
    for size in (2, 4, 8):
        least = 8 * S * W * (1 + 5 / size)
        where = f"{size} ranks, after forward of an MLP in rows, {S} tokens of {W} features"
        found.append(MeasuredCost(held(size, True)[1], least, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ----------------------------------------------------------------------- questions, and a picture


def bytes_on_four():
    return sent(4)


def inputs_on_eight():
    return held(8, True)[1] / (8 * S * W)


def picture():
    """An MLP on three ranks: which numbers each of them has, there and back."""
    found = sim.run(looked_at, 3).results
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


def looked_at():
    """The numbers that pass the layers of an MLP on this rank."""
    rank, block = dist.get_rank(), cut.MLP(cut.Columns(linear(2, 6, 1)), cut.Rows(linear(6, 2, 2)))
    seen = {}

    def before(module, inputs):
        inputs[0].register_hook(lambda grad: seen.update({"share": grad}))

    block.first.register_forward_pre_hook(before)
    block.second.register_forward_pre_hook(lambda _, inputs: seen.update(h=inputs[0]) or None)
    block.second.register_forward_hook(lambda _, __, output: seen.update(summand=output) or None)
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    y = block(x)
    y.sum().backward()
    hidden = ["  ·"] * 6
    hidden[2 * rank : 2 * rank + 2] = told(seen["h"])
    columns = {
        "x": x,
        "summand": seen["summand"],
        "y": y,
        "share": seen["share"],
        "dx": x.grad,
    }
    found = {name: " ".join(told(tensor)) for name, tensor in columns.items()}
    return {"": f"rank {rank}", "x": found.pop("x"), "hidden": " ".join(hidden), **found}


def told(tensor):
    return [f"{value:3.0f}" for value in tensor.detach().flatten().tolist()]
