"""The only difference from PyTorch: all that the programs of this folder use and PyTorch does not have.

A program imports torch's names from `minitorch_dist`, and these from here. Change `minitorch_dist` to
`torch` in the program's text, leave this file alone, and it runs under PyTorch (a test does so).

    flags(doc, …)          a parser with --world_size --rank --master_addr --master_port --sim
    count                  the type of flags that say how many, from 1 on
    start(run, options, mp.spawn)
                           with --rank:     this terminal is one rank; start the others elsewhere
                           under torchrun:  the same; who we are stands in the environment
                           with --sim:      all ranks in this process, in virtual time
                           else:            one command, `mp.spawn` makes a process for each rank
    digits(…)              a stand-in for MNIST that is drawn, as numpy arrays
    alike(model)           first weights that are the same here and under PyTorch
    curve(values, label)   a course of numbers, as lines of text
    pictures(images)       grey images side by side, as lines of text
    compute(seconds)       what a real machine would compute; takes time in the simulator only
"""

import argparse
import os
import socket

import numpy as np

HERE = "localhost"


def count(text: str) -> int:
    """A number of things, of which there must be some."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def port(text: str) -> int:
    number = int(text)
    if not 0 < number < 2**16:
        raise argparse.ArgumentTypeError(f"a port is 1 to 65535, got {number}")
    return number


class Flags(argparse.ArgumentParser):
    """Says what is wrong before any process is started."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._demands = []

    def demand(self, holds, words) -> None:
        """The program ends with `words`, unless `holds(options)`."""
        self._demands.append((holds, words))

    def parse_args(self, args=None, namespace=None):
        options = super().parse_args(args, namespace)
        size, rank = options.world_size, options.rank
        if rank is None and not options.sim and "RANK" in os.environ:  # torchrun says who we are
            options.world_size = int(os.environ["WORLD_SIZE"])
        if rank is not None and not 0 <= rank < size:
            self.error(f"--rank {rank} is not in a world of {size}: 0 … {size - 1}")
        for holds, words in self._demands:
            if not holds(options):
                self.error(words)
        return options


def flags(doc: str | None, world_size: int) -> Flags:
    """Say which rank of which world this is; without --rank it is all of them."""
    parser = Flags(description=(doc or "").partition("\n")[0])
    add = parser.add_argument
    add("--world_size", type=count, default=world_size, help="how many ranks (%(default)s)")
    add("--rank", type=int, help="be this one rank; the others are started elsewhere")
    add("--master_addr", default=HERE, help="the host of rank 0 (%(default)s)")
    words = "a port of that host (29500; with one command, one that is free)"
    add("--master_port", type=port, help=words)
    add("--sim", action="store_true", help="all ranks in this process, in virtual time")
    return parser


def start(run, options, spawn):
    """Call `run(rank, world_size, options)`: here, in processes, or in the simulator."""
    size = options.world_size
    if options.sim:
        report = simulate(run, size, options)
        print(report)
        return report.results
    if options.rank is None and "RANK" in os.environ:
        return run(int(os.environ["RANK"]), size, options)
    os.environ["MASTER_ADDR"] = options.master_addr
    if options.rank is not None:
        os.environ["MASTER_PORT"] = str(options.master_port or 29500)
        return run(options.rank, size, options)
    os.environ["MASTER_PORT"] = str(options.master_port or _free_port())
    return spawn(run, args=(size, options), nprocs=size, join=True)


def simulate(run, size, options, **how):
    """The report of `sim.run`; its results are what `run` returned, by rank."""
    import minitorch_dist.distributed as dist
    from minitorch_dist import sim

    def one():
        return run(dist.get_rank(), size, options)

    how.setdefault("net", sim.uniform("50us", "10Gb/s"))
    return sim.run(one, size, **how)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def digits(count: int, train: bool = True):
    """Images (count, 1, 28, 28), normalised as the tutorials do, and labels. They are drawn in
    random order, so one pass over them needs no shuffling."""
    from minitorch_dist.datasets import SyntheticDigits

    drawn = SyntheticDigits(train, count)
    images = drawn.data.array[:, None].astype(np.float32) / 255
    return (images - np.float32(0.1307)) / np.float32(0.3081), drawn.targets.array.astype(np.int64)


def alike(model, seed: int = 0):
    """Draw the weights of a model by numpy, each ~ N(0, 1 / what it sums over); biases are 0."""
    draw = np.random.default_rng(seed)
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        if len(shape) > 1:
            values = draw.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
            parameter.data.copy_(parameter.new_tensor(values.astype(np.float32)))
        elif "bias" in name.rpartition(".")[2]:
            parameter.data.zero_()
    return model


def noise(seed: int, *shape: int):
    """Normal numbers that are the same here and under PyTorch."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def curve(values, label: str, over: str = "steps") -> list[str]:
    """The lines of a picture of these numbers, drawn with dots. The label says what goes to the right."""
    from mtd.cli import plots

    return plots.curve(values, label=f"{label}, {over} 1 to {len(values)}")


def pictures(images) -> list[str]:
    """The lines of a picture of grey images (count, 28, 28), from 0 to 1, side by side."""
    from mtd.cli import plots

    return plots.side_by_side([plots.image(np.asarray(255 * image, np.uint8)) for image in images])


def compute(seconds: float) -> None:
    """Be busy for so long, where time is virtual; elsewhere computing takes its time by itself."""
    from minitorch_dist import sim

    sim.compute(seconds)


def lock():
    """A lock for a rank's own threads that may be held while virtual time passes."""
    from minitorch_dist.distributed import world

    return world.place().clock.condition("the lock")
