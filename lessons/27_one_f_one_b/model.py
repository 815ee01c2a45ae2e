"""The small transformer in four stages, and each sequence is a micro-batch."""

import one_f_one_b

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.pipelining.orders import Pipe
from minitorch_dist.nn.functional import cross_entropy
from mtd.course import one_model

FORMULA = "(M+S-1)/M · C/S, and two messages for each stage and micro-batch that is waited for"


class Onto(nn.Module):
    """Move the input, which came from the stage before, to the accelerator."""

    def forward(self, x):
        return x.to("cuda")


def trained():
    model, rank, last = one_model.model(), dist.get_rank(), dist.get_world_size() - 1
    layers = [Onto(), model.blocks[rank]]
    layers[1:1] = [model.words] * (rank == 0)
    layers += [model.head] * (rank == last)
    mine = nn.Sequential(*layers)
    optimizer = one_model.optimizer(mine.parameters())
    sequences = [one_model.sequence(number) for number in range(one_model.SEQUENCES)]
    if rank > 0:
        empty = torch.zeros(one_model.TOKENS, 0, dtype=torch.float64)
        sequences = [(empty, following) for _, following in sequences]
    pipe = Pipe(one_model.RANKS, one_model.SEQUENCES)
    losses = []

    def loss(out, following):
        found = cross_entropy(out, following) / one_model.SEQUENCES
        losses.append(found.item())
        return found

    def step():
        optimizer.zero_grad()
        losses.clear()
        stage = one_f_one_b.Stage(mine, one_model.WIDTH)
        stage.step(one_f_one_b.one_forward_one_backward(rank, pipe), sequences, loss)
        optimizer.step()
        return sum(losses)

    return step


def seconds():
    stages, count = one_model.RANKS, one_model.SEQUENCES
    message = one_model.message(one_model.TOKENS * one_model.WIDTH * 8)
    slots = (count + stages - 1) / count * one_model.computing() / stages
    return slots + 2 * (stages - 1) * message
