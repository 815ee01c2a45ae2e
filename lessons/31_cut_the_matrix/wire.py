"""Lesson 31 over real wires: an MLP and attention of whole numbers, there and back, whole and in rows."""

import cut

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs, dtype=torch.float64)
    numbers = torch.arange(outputs * inputs, dtype=torch.float64).view(outputs, inputs)
    layer.weight.data.copy_(numbers * 7 % 5 - 2)
    layer.bias.data.copy_(torch.arange(outputs, dtype=torch.float64) % 3 - 1)
    return layer


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for in_rows in (False, True):
        mlp = cut.MLP(cut.Columns(linear(4, 3 * size)), cut.Rows(linear(3 * size, 4)), in_rows)
        heads = [cut.Columns(linear(4, 2 * size)) for _ in range(3)]
        attention = cut.Attention(*heads, cut.Rows(linear(2 * size, 4)), size, torch.relu, in_rows)
        x = torch.arange(8.0 * size, dtype=torch.float64).view(2 * size, 4) % 3 - 1
        x = x[2 * rank : 2 * rank + 2].clone() if in_rows else x
        x.requires_grad_()
        y = mlp(x + attention(x))
        y.sum().backward()
        found += [y.tolist(), x.grad.tolist()]
        found += [p.grad.tolist() for p in (*mlp.parameters(), *attention.parameters())]
    return found
