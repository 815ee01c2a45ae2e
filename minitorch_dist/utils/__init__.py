"""What stands beside the layers: activation checkpointing, DLPack, counted operations, and data loading."""

from minitorch_dist.utils import (
    checkpoint as checkpoint,
    data as data,
    dlpack as dlpack,
    flop_counter as flop_counter,
)
