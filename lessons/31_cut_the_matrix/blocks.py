"""The blocks of lesson 31, on whole numbers, beside the same on one rank."""

import cut

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from mtd.course.whole_numbers import compare, linear, my_part, whole_numbers


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


def told(tensor):
    return [f"{value:3.0f}" for value in tensor.detach().flatten().tolist()]


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
