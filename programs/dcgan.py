"""Two nets learn from each other to draw digits: DCGAN, Radford et al. 2015, arXiv:1511.06434.

    python programs/dcgan.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/dcgan.py         torchrun; it says who is who
    python programs/dcgan.py --sim                      in virtual time

The generator makes a picture of some random numbers, the discriminator says whether a picture is real. In each step
the discriminator learns to tell digits from drawn pictures. Then the generator learns to be taken for real.
Every rank has its share of each batch, and DDP averages the gradients of both nets. DCGAN's batch norms would
differ from rank to rank, so here each picture is normalised by itself (GroupNorm): ranks together are one rank.
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, curve, digits, flags, noise, pictures, start


def generator(z, width):
    """From z numbers to 7×7, 14×14 and 28×28 pixels, each between -1 and 1."""
    return nn.Sequential(
        nn.ConvTranspose2d(z, 2 * width, 7),
        nn.GroupNorm(1, 2 * width),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
        nn.GroupNorm(1, width),
        nn.ReLU(),
        nn.ConvTranspose2d(width, 1, 4, 2, 1),
        nn.Tanh(),
    )


def discriminator(width):
    """The same way back, to one number: is it real?"""
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1),
        nn.GroupNorm(1, 2 * width),
        nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 1, 7),
        nn.Flatten(0),
    )


def is_real(scores):
    return F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))


def is_drawn(scores):
    return F.binary_cross_entropy_with_logits(scores, torch.zeros_like(scores))


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    draw, judge = alike(generator(options.z, options.width)), alike(discriminator(options.width), 1)
    ddp_draw, ddp_judge = DDP(draw), DDP(judge)
    how = {"lr": options.lr, "betas": (0.5, 0.999)}
    draw_optimizer = torch.optim.Adam(draw.parameters(), **how)
    judge_optimizer = torch.optim.Adam(judge.parameters(), **how)
    images, _ = digits(options.train_size)
    images = torch.from_numpy((images * 0.3081 + 0.1307) * 2 - 1).clamp(-1, 1)
    losses = []
    for step in range(options.steps):
        first = step * options.batch_size % (len(images) - options.batch_size + 1)
        real = images[first : first + options.batch_size][rank::world_size]
        chance = noise(step, options.batch_size, options.z, 1, 1)[rank::world_size].copy()
        drawn = ddp_draw(torch.from_numpy(chance))

        scores = ddp_judge(torch.cat([real, drawn.detach()]))
        judge_loss = is_real(scores[: len(real)]) + is_drawn(scores[len(real) :])
        judge_optimizer.zero_grad()
        judge_loss.backward()
        judge_optimizer.step()

        draw_loss = is_real(judge(drawn))  # without DDP: the judge does not learn from this
        draw_optimizer.zero_grad()
        draw_loss.backward()
        draw_optimizer.step()

        means = torch.stack([judge_loss.detach(), draw_loss.detach()]) / world_size
        dist.all_reduce(means)
        losses.append(means.tolist())
    if rank == 0:
        print(*curve([judged for judged, _ in losses], "the discriminator's loss"), sep="\n")
        print(*curve([drawn for _, drawn in losses], "the generator's loss"), sep="\n")
        with torch.no_grad():
            new = draw(torch.from_numpy(noise(10**6, 12, options.z, 1, 1)))
        print("digits, and what the generator draws:")
        for row in (images[:6], new[:6], new[6:]):
            print(*pictures((row.numpy().reshape(-1, 28, 28) + 1) / 2), "", sep="\n")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.demand(
        lambda o: o.batch_size % o.world_size == 0,
        "--batch_size must be a multiple of --world_size, so that all ranks have equal shares",
    )
    made.demand(lambda o: o.train_size >= o.batch_size, "--train_size must be at least --batch_size")
    for name, default in (("steps", 300), ("train_size", 2000), ("batch_size", 32), ("width", 16)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--z", type=count, default=16, help="how many random numbers make a picture")
    made.add_argument("--lr", type=float, default=1e-3)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
