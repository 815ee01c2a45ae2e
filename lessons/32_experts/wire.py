"""Lesson 32 over real wires: 2 experts on each rank, uneven numbers of tokens, there and back."""

import experts

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn


def numbers(rows, columns, shift):
    found = torch.arange(float(rows * columns), dtype=torch.float64).view(rows, columns)
    return (found * 7 + shift) % 5 - 2


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = []
    for number in range(2 * size):
        layer = nn.Linear(3, 2, dtype=torch.float64)
        layer.weight.data.copy_(numbers(2, 3, number))
        layer.bias.data.copy_(numbers(1, 2, number)[0])
        layers.append(layer)
    found = []
    for factor in (0.5, 8.0):
        layer = experts.Experts(numbers(2 * size, 3, 1), layers, 2, factor, torch.relu)
        x = numbers(3 * rank + 1, 3, rank).requires_grad_()
        y = layer(x)
        (y.sum() + layer.balance * 0.5).backward()
        found += [y.tolist(), x.grad.tolist(), *(p.grad.tolist() for p in layer.parameters())]
        for p in layer.parameters():
            p.grad = None
    return found
