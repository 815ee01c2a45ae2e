"""Lesson 34 over real wires: a product on each stage, seven micro-batches, each backward in two halves."""

import zero_bubble

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.pipelining.orders import Pipe
from minitorch_dist.optim import SGD

MICROBATCHES, WIDTH = 7, 3
RATE = 2.0**-8


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    numbers = torch.arange(float(WIDTH * WIDTH), dtype=torch.float64).view(WIDTH, WIDTH)
    product = zero_bubble.Product(nn.Parameter((numbers * 7 + rank) % 5 - 2))
    stage = zero_bubble.Stage(nn.Sequential(product, nn.ReLU()), WIDTH)
    optimizer = SGD(stage.layers.parameters(), lr=RATE)
    found = []
    for message in (0.0, 1.0):
        rows = torch.arange(2.0 * WIDTH * MICROBATCHES, dtype=torch.float64)
        parts = (rows.view(MICROBATCHES, 2, WIDTH) * 5 % 7 - 3).unbind()
        order = zero_bubble.zero_bubble(rank, Pipe(size, MICROBATCHES), message)
        optimizer.zero_grad()
        stage.step(order, [(part, 1.0) for part in parts], lambda out, target: (out - target).sum())
        optimizer.step()
        found.append(product.weight.tolist())
    return found
