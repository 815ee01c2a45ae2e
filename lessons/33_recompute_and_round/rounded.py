"""Models in half precision: gradients that the check chooses, and a training."""

import recompute

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.optim import SGD, Adam
from minitorch_dist.testing import exact


class Slopes(nn.Module):
    """Weights whose gradients are the numbers that `forward` is given."""

    def __init__(self, *values):
        super().__init__()
        self.ws = nn.ParameterList([torch.full((1,), value) for value in values])

    def forward(self, slopes):
        return sum((w.float() * slope).sum() for w, slope in zip(self.ws, slopes))


def plain(rate):
    return lambda parameters: SGD(parameters, lr=rate)


def mixed_over(size, program, *args):
    """The results of all ranks."""
    return sim.run(program, size, args).results


def step(mixed, model, slopes):
    (mixed.scale * model(slopes)).backward()
    return mixed.step()


def skips(victim, bad, place):
    model = Slopes(2.0, 2.0)
    mixed = recompute.Mixed(model, plain(0.5), torch.float16, 8.0, 10**6)
    slopes = [1.0, 1.0]
    if dist.get_rank() == victim:
        slopes[place] = bad
    first = step(mixed, model, slopes), [w.item() for w in model.ws], mixed.scale
    return *first, step(mixed, model, [1.0, 1.0]), [w.item() for w in model.ws], mixed.scale


def spirals(dtype, has_masters=True, rate=2.0**-9, steps=400):
    """The loss after training the course's small model, on one rank. `dtype` None: all in float32."""

    def program():
        samples, model = exact.data(37), exact.Model()
        x, y = samples.x.float(), samples.y.float()
        model.to(torch.float32)
        mixed = (
            recompute.Mixed(model, plain(rate), dtype, 2.0**8) if dtype and has_masters else None
        )
        if dtype and not has_masters:
            model.to(dtype)
        optimizer = plain(rate)(model.parameters())
        for _ in range(steps):
            total = exact.loss(model(x.to(dtype) if dtype else x).float(), y)
            if mixed:
                (mixed.scale * total).backward()
                mixed.step()
            else:
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        return exact.loss(model(x.to(dtype) if dtype else x).float(), y).item()

    return sim.run(program, 1).results[0]


def in_float32(steps=60):
    """The loss after these steps of Adam, in float32 and on one rank."""
    model, whole = exact.Model().to(torch.float32), exact.data(37)
    optimizer = Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        exact.loss(model(whole.x.float()), whole.y.float()).backward()
        optimizer.step()
    return exact.loss(model(whole.x.float()), whole.y.float()).item()


def of_ranks():
    """The loss and the weights after 60 steps of Adam, in float16 and on all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    share, model = exact.data(37).shares(size)[rank], exact.Model().to(torch.float32)
    mixed = recompute.Mixed(model, lambda ps: Adam(ps, lr=0.02), torch.float16, 2.0**16, 10)
    for _ in range(60):
        total = exact.loss(model(share.x.half()).float(), share.y.float()) * size
        (mixed.scale * total).backward()
        mixed.step()
    whole = exact.data(37)
    return exact.loss(model(whole.x.half()).float(), whole.y.float()).item(), exact.weights(model)
