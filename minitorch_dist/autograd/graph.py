"""Looking at the graph: its nodes. (Hooks on tensors and modules tell of gradients, and `utils.checkpoint` gives back memory.)"""

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.core.graph import Node as Node

not_offered.guard(globals())
