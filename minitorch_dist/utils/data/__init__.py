"""Datasets, samplers and loaders: PyTorch's `torch.utils.data`.

dataset  sampler  distributed     what has samples; in which order; every rank its own part
collate  fetch                    from samples to a batch
dataloader  iteration             what to load; one pass of it
pool  worker                      processes that load: the parent's view, and theirs
"""

from minitorch_dist.inventory import not_offered
from minitorch_dist.utils.data.collate import default_collate as default_collate, default_convert as default_convert
from minitorch_dist.utils.data.dataloader import DataLoader as DataLoader
from minitorch_dist.utils.data.dataset import (
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from minitorch_dist.utils.data.distributed import DistributedSampler as DistributedSampler
from minitorch_dist.utils.data.sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
)
from minitorch_dist.utils.data.worker import get_worker_info as get_worker_info

not_offered.guard(globals())
