"""PyTorch's distributed stack from scratch: tensors, autograd, and everything between ranks."""

from minitorch_dist import nn as nn
from minitorch_dist.tensors.tensor import Tensor as Tensor
