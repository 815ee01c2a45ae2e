"""Units of a few numbers, and what their shards and gradients have to be."""

import sharded

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from mtd.course import lab


def told(grad):
    return None if grad is None else grad.tolist()


def shard_of(part, values):
    """This rank's part of a vector like `whole`."""
    length = len(part.shard)
    padded = [*values] + [0.0] * (dist.get_world_size() * length)
    return padded[dist.get_rank() * length :][:length]


def near(found, wanted):
    if found is None or wanted is None:
        return found is wanted
    return all(abs(a - b) <= 1e-6 * max(abs(b), 1) for a, b in zip(found, wanted, strict=True))


def held(unit):
    """Bytes of wholes."""
    return sum(part.whole.untyped_storage().nbytes() for part in unit.parts)


class Sums(nn.Module):
    """Its weights times x, added up: the gradient of each weight is x. Those that `uses` leaves out get none."""

    def __init__(self, count=3):
        super().__init__()
        self.weights = nn.ParameterList([torch.full((2,), n + 1.0) for n in range(count)])
        self.uses = range(count)

    def forward(self, x):
        return sum(self.weights[number] * x for number in self.uses)


class WithoutEnd(sharded.FullyShardedDataParallel):
    """So that the steps before `backward_ends` can be judged alone."""

    def backward_ends(self):
        pass


def evaluates():
    layer = Sums()
    for weight in layer.weights:
        weight.data.mul_(dist.get_rank() + 1.0)
    unit = sharded.FullyShardedDataParallel(layer)
    for mode in (torch.no_grad(), torch.enable_grad()):
        with mode:
            found = unit(torch.ones(2)).tolist()
        grads = [told(part.shard.grad) for part in unit.parts]
        assert found == [6.0, 6.0] and not held(unit) and grads == [None] * 3, (
            f"{lab.ranks(dist.get_world_size())}: an evaluation gives {found}, expected 6 and 6. Afterwards {held(unit)} bytes are "
            f"whole, expected 0, and the shards' gradients are {grads}, expected None"
        )


def averages():
    """The gradients are P (rank + 1); weight 1 is frozen."""
    size = dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    unit.parts[1].shard.requires_grad_(False)
    unit.gather()
    for number in (0, 2):
        unit.parts[number].window.grad = torch.full((2,), size * (dist.get_rank() + 1.0))
    unit.average()
    says(unit, [size * (size + 1) / 2, None, size * (size + 1) / 2], "after average(),")


def says(unit, values, when):
    """A unit has these gradients of weights of two numbers, and nothing is whole."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for number, (part, value) in enumerate(zip(unit.parts, values, strict=True)):
        wanted = None if value is None else shard_of(part, [value] * 2)
        found = told(part.shard.grad)
        assert near(found, wanted), (
            f"{lab.ranks(size)}, {when} shard.grad of weight {number} is {found} on rank {rank}, and its part of the "
            f"average is {wanted}"
        )
    whole = [told(part.window.grad) for part in unit.parts]
    assert not held(unit), (
        f"{lab.ranks(size)}, {when} {held(unit)} bytes are still whole, expected 0"
    )
    assert not any(whole), (
        f"{lab.ranks(size)}, {when} whole gradients are left: {whole}, expected None"
    )


def goes_back():
    """The gradients are 1, 10 and 100 times P (rank + 1); then one of w·w·x."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = WithoutEnd(Sums())
    for tens in (1.0, 10.0, 100.0):
        x = torch.full((2,), tens * size * (rank + 1), requires_grad=True)
        unit(x).sum().backward()
        assert x.grad.tolist() == [6.0, 6.0], (
            f"{lab.ranks(size)}: after backward the gradient of rank {rank}'s input is {x.grad.tolist()}, expected 6 and 6. "
            "It was computed with memory that had been given back, or with other numbers than those of forward"
        )
        so_far = {1.0: 1, 10.0: 11, 100.0: 111}[tens] * size * (size + 1) / 2
        says(
            unit,
            [so_far] * 3,
            f"after backwards by 1, 10, 100 up to {tens:g}, times {size} (rank + 1),",
        )
    unit = WithoutEnd(Sums(1))
    unit(unit(torch.full((2,), size * (rank + 1.0)))).sum().backward()
    says(unit, [size * (size + 1.0)], "a unit that is used twice in one forward:")


def leaves_one_out(alike):
    """All ranks leave out weight 1; or each rank another one."""
    size = dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    unused_by = [1 if alike else each % 3 for each in range(size)]
    unit.module.uses = [number for number in range(3) if number != unused_by[dist.get_rank()]]
    for _ in range(2):
        unit.zero_grad()
        unit(torch.ones(2) * 2).sum().backward()
        shares = [2 * sum(out != number for out in unused_by) / size for number in range(3)]
        says(unit, shares, f"where rank r does not use weight number {unused_by},")


def thaws():
    """Three units of three weights. Of the first, weight 0 is frozen, of the second, all; they thaw, and are frozen again."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = [Sums() for _ in range(3)]
    for p in [layers[0].weights[0], *layers[1].weights]:
        p.requires_grad_(False)
    units = [sharded.FullyShardedDataParallel(layer) for layer in layers]
    frozen = [units[0].parts[0], *units[1].parts]
    for is_frozen in (True, False, True):
        for part in frozen:
            part.shard.requires_grad_(not is_frozen)
        for unit in units:
            unit.zero_grad()
        nn.Sequential(*units)(torch.full((2,), size * (rank + 1.0))).sum().backward()
        value = 36 * size * (size + 1) / 2
        for number, unit in enumerate(units):
            values = [None if is_frozen and part in frozen else value for part in unit.parts]
            some = "weight 0 of unit 0 and all of unit 1 are"
            says(
                unit,
                values,
                f"{some} {'frozen' if is_frozen else 'trained again'}: of unit {number}",
            )


def clips():
    """A gradient of 3 and one of -4, each in a few places, beside a parameter without any."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    for part, value in zip(unit.parts, (3.0, -4.0)):
        part.shard.grad = torch.tensor(shard_of(part, [value] * 2))
    found = sharded.clip_grad_norm_(unit.parameters(), 1.0)
    wanted = 50**0.5
    assert abs(found - wanted) < 1e-6, (
        f"{lab.ranks(size)} with shards of the gradients [3, 3] and [-4, -4]. Their norm is {found:g} by clip_grad_norm_ on rank "
        f"{rank}, and that of all together is {wanted:g}"
    )
    for part, value in zip(unit.parts, (3.0, -4.0)):
        clipped, due = told(part.shard.grad), shard_of(part, [value / wanted] * 2)
        assert near(clipped, due), (
            f"{lab.ranks(size)}, a norm of {wanted:g} clipped to 1: shard.grad of rank {rank} is {clipped}, expected {due}"
        )
