"""Tools beside the layers: activation checkpointing, counted operations, and data loading."""

from minitorch_dist.inventory import not_offered
from minitorch_dist.utils import checkpoint as checkpoint, data as data, flop_counter as flop_counter

not_offered.guard(globals())
