"""What stands beside the layers: activation checkpointing, DLPack, and data loading."""

from minitorch_dist.utils import checkpoint as checkpoint
from minitorch_dist.utils import data as data
from minitorch_dist.utils import dlpack as dlpack
