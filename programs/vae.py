"""A variational autoencoder learns to draw digits: Kingma and Welling 2013, arXiv:1312.6114.

    python programs/vae.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/vae.py         torchrun; it says who is who
    python programs/vae.py --sim                      in virtual time

The encoder says for each picture a mean and a spread in a space of few dimensions. A point is drawn there, as mean +
spread * noise, so that gradients pass. The decoder makes a picture of it. The loss is how badly that fits,
and how far the encoder's distributions are from a normal one. Every rank has other digits; DDP averages the gradients.
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, curve, digits, flags, noise, pictures, start


class VAE(nn.Module):
    def __init__(self, hidden, dimensions):
        super().__init__()
        self.inner = nn.Linear(784, hidden)
        self.mean, self.log_variance = nn.Linear(hidden, dimensions), nn.Linear(hidden, dimensions)
        self.outer, self.pixels = nn.Linear(dimensions, hidden), nn.Linear(hidden, 784)

    def decode(self, point):
        return self.pixels(F.relu(self.outer(point)))

    def forward(self, images, chance):
        hidden = F.relu(self.inner(images))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decode(mean + torch.exp(log_variance / 2) * chance), mean, log_variance


def loss_of(images, drawn, mean, log_variance):
    """Per picture: what its pixels cost, and the distance (KL) from the normal distribution."""
    fits = F.binary_cross_entropy_with_logits(drawn, images, reduction="sum")
    apart = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (fits + apart) / len(images)


def pixels_of(rank, world_size, options):
    """This rank's digits, with pixels from 0 to 1."""
    images, _ = digits(options.train_size)
    images = (images * 0.3081 + 0.1307).clip(0, 1).reshape(-1, 784)
    return torch.from_numpy(images[rank::world_size].copy())


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = alike(VAE(options.hidden, options.dimensions))
    ddp_model = DDP(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    pixels, losses = pixels_of(rank, world_size, options), []
    for step in range(options.steps):
        first = step * options.batch_size % (len(pixels) - options.batch_size + 1)
        images = pixels[first : first + options.batch_size]
        chance = torch.from_numpy(noise(1000 * rank + step, len(images), options.dimensions))
        loss = loss_of(images, *ddp_model(images, chance))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach() / world_size
        dist.all_reduce(mean)
        losses.append(mean.item())
    if rank == 0:
        print(*curve(losses, "the loss"), sep="\n")
        print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}; digits, the same from the decoder, and new ones:")
        with torch.no_grad():
            again = model(pixels[:6], torch.zeros(6, options.dimensions))[0]
            new = model.decode(torch.from_numpy(noise(7, 6, options.dimensions)))
        for row in (pixels[:6], torch.sigmoid(again), torch.sigmoid(new)):
            print(*pictures(row.numpy().reshape(-1, 28, 28)), sep="\n")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.demand(
        lambda o: o.train_size >= o.world_size * o.batch_size,
        "--train_size must be at least --world_size times --batch_size",
    )
    for name, default in (("steps", 300), ("train_size", 2000), ("batch_size", 32), ("hidden", 128)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--dimensions", type=count, default=8, help="of the space of points")
    made.add_argument("--lr", type=float, default=2e-3)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
