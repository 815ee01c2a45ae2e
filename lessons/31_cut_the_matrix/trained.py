"""The small transformer of lesson 31, cut and trained, beside that of one rank."""

import cut
import numpy as np

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import lab, small_transformer as small
from mtd.course.whole_numbers import my_part

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


def cut_mlp(module):
    return cut.MLP(cut.Columns(module[0]), cut.Rows(module[2]))


def cut_attention(module):
    columns = [cut.Columns(layer) for layer in (module.query, module.key, module.value)]
    return cut.Attention(*columns, cut.Rows(module.output), small.HEADS, small.causal)


PLAN = {"blocks.*.mlp": small.Yours(cut_mlp), "blocks.*.attention": small.Yours(cut_attention)}
