"""Layers as plain functions: what `nn`'s modules call, with their state as arguments."""

from minitorch_dist.tensors.ops.contraction import bilinear as bilinear
from minitorch_dist.tensors.ops.convolution import conv1d as conv1d
from minitorch_dist.tensors.ops.convolution import conv2d as conv2d
from minitorch_dist.tensors.ops.convolution import conv_transpose1d as conv_transpose1d
from minitorch_dist.tensors.ops.convolution import conv_transpose2d as conv_transpose2d
from minitorch_dist.tensors.ops.products import linear as linear
