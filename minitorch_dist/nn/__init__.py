"""Building blocks of networks: modules and their parameters."""

from minitorch_dist.nn import functional as functional
from minitorch_dist.nn import init as init
from minitorch_dist.nn import utils as utils
from minitorch_dist.nn.modules.container import ModuleDict as ModuleDict
from minitorch_dist.nn.modules.container import ModuleList as ModuleList
from minitorch_dist.nn.modules.container import Sequential as Sequential
from minitorch_dist.nn.modules.flatten import Flatten as Flatten
from minitorch_dist.nn.modules.flatten import Unflatten as Unflatten
from minitorch_dist.nn.modules.linear import Bilinear as Bilinear
from minitorch_dist.nn.modules.linear import Identity as Identity
from minitorch_dist.nn.modules.linear import Linear as Linear
from minitorch_dist.nn.modules.module import Module as Module
from minitorch_dist.nn.modules.parameter_container import ParameterDict as ParameterDict
from minitorch_dist.nn.modules.parameter_container import ParameterList as ParameterList
from minitorch_dist.nn.modules.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from minitorch_dist.nn.modules.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from minitorch_dist.nn.modules.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from minitorch_dist.nn.modules.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from minitorch_dist.nn.modules.pooling import AvgPool1d as AvgPool1d
from minitorch_dist.nn.modules.pooling import AvgPool2d as AvgPool2d
from minitorch_dist.nn.modules.pooling import MaxPool1d as MaxPool1d
from minitorch_dist.nn.modules.pooling import MaxPool2d as MaxPool2d
from minitorch_dist.nn.parameter import Buffer as Buffer
from minitorch_dist.nn.parameter import Parameter as Parameter
