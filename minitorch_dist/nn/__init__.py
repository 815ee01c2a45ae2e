"""Building blocks of networks: modules and their parameters."""

from minitorch_dist.nn import functional as functional
from minitorch_dist.nn.modules.module import Module as Module
from minitorch_dist.nn.parameter import Buffer as Buffer
from minitorch_dist.nn.parameter import Parameter as Parameter
