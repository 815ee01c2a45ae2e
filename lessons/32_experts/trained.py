"""Models with experts, trained beside the same on one rank."""

import experts

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.tensor import Replicate, Shard
from minitorch_dist.distributed.tensor.parallel.activations import convert
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import small_transformer as small
from mtd.course.whole_numbers import whole_numbers

BATCHES, COUNT = (36, 24, 12), 6


def sixteenths(scores):
    """Weights of 0 to 2, rounded to sixteenths; the gradient passes as if they were not."""
    near = ((scores * 16).round() / 16).clamp(0, 2)
    return scores + (near - scores).detach()


def whole_model():
    found = []
    for seed in range(COUNT):
        layer = nn.Linear(2, 1, dtype=torch.float64)
        layer.weight.data.copy_(whole_numbers(1, 2, seed=seed, most=256) / 256)
        layer.bias.data.copy_(whole_numbers(1, seed=seed, most=256) / 256)
        found.append(layer)
    return experts.Experts(
        whole_numbers(COUNT, 2, seed=9, most=256) / 256, found, 2, 6.0, sixteenths
    )


def train():
    rank, size, model = dist.get_rank(), dist.get_world_size(), whole_model()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=0.5)
    with exact.watched() as steps:
        for seed, samples in enumerate(BATCHES):
            exact.step(model, optimizer, exact.data(samples, seed).shares(size)[rank])
    return steps


def in_experts(module):
    """Six experts in the place of an MLP; each rank takes its part of the tokens."""
    first, _, second = module
    torch.manual_seed(3)
    router = torch.randn(6, small.WIDTH, dtype=torch.float64)
    layers = []
    for number in range(6):
        wide, narrow = (
            nn.Linear(*reversed(each.weight.shape), dtype=torch.float64) for each in (first, second)
        )
        wide.weight.data.mul_(1 + number)
        layers.append(nn.Sequential(wide, nn.ReLU(), narrow))
    return OnItsTokens(experts.Experts(router, layers, 2, 6.0, lambda scores: scores.softmax(-1)))


class OnItsTokens(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        group = dist.group.WORLD
        return convert(
            self.layer(convert(x, Replicate(), Shard(0), group)), Shard(0), Replicate(), group
        )
