"""What stands beside the layers: activation checkpointing, DLPack, and data loading."""

from minitorch_dist.utils import checkpoint as checkpoint, data as data, dlpack as dlpack
