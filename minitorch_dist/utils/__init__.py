"""Tools beside the layers: activation checkpointing, DLPack, counted operations, data loading, and trees of containers."""

from minitorch_dist.utils import (
    _pytree as _pytree,
    checkpoint as checkpoint,
    data as data,
    dlpack as dlpack,
    flop_counter as flop_counter,
)
