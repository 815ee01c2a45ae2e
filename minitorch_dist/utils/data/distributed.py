"""Every rank its own part of a dataset, of equal size.

shuffled numbers    4 0 2 3 1          5 samples, 2 ranks
padded              4 0 2 3 1 4        by repeating the head (drop_last: cut off instead)
rank 0              4 . 2 . 1 .
rank 1              . 0 . 3 . 4
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sized

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers.random import randperm
from minitorch_dist.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The numbers that one of `num_replicas` ranks visits. All ranks must be given the same seed.

    Each epoch has the same order until `set_epoch` is called. Forgetting that call is silent in
    torch; here the second pass over an unchanged epoch warns.

    Args:
        dataset: Its length counts.
        num_replicas: How many ranks there are, by default those of the process group.
        rank: The number of this rank, by default that in the process group.
        shuffle: A random order each epoch.
        seed: The seed of that order.
        drop_last: Leave samples out, instead of visiting some twice, so that all ranks have as many.

    Example:
        >>> sampler = utils.data.DistributedSampler(range(6), num_replicas=2, rank=1, shuffle=False)
        >>> list(sampler)
        [1, 3, 5]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            size, own = _asked()
            num_replicas = size if num_replicas is None else num_replicas
            rank = own if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self._visited: int | None = None  # the epoch of the last pass

    def __iter__(self) -> Iterator[int]:
        if self.shuffle and self._visited == self.epoch:
            warnings.warn(
                f"DistributedSampler visits epoch {self.epoch} again, in the same order as before. "
                "Call sampler.set_epoch(epoch) at the start of every epoch.",
                UserWarning,
                stacklevel=2,
            )
        self._visited = self.epoch
        if self.shuffle:
            source = Generator().manual_seed(self.seed + self.epoch)
            numbers = randperm(len(self.dataset), generator=source).array.tolist()
        else:
            numbers = list(range(len(self.dataset)))
        whole = itertools.islice(itertools.cycle(numbers), self.total_size)
        return itertools.islice(whole, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle differently from now on."""
        self.epoch = epoch


def _asked() -> tuple[int, int]:
    """How many ranks there are, and which is this one."""
    from minitorch_dist.distributed import distributed_c10d  # opened only when it is asked

    if not distributed_c10d.is_initialized():
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group; or pass num_replicas= and rank= to DistributedSampler"
        )
    return distributed_c10d.get_world_size(), distributed_c10d.get_rank()
