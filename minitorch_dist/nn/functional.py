"""Layers as plain functions: what `nn`'s modules call, with their state as arguments."""

from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_max_pool1d as adaptive_max_pool1d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_max_pool2d as adaptive_max_pool2d
from minitorch_dist.tensors.ops.contraction import bilinear as bilinear
from minitorch_dist.tensors.ops.convolution import conv1d as conv1d
from minitorch_dist.tensors.ops.convolution import conv2d as conv2d
from minitorch_dist.tensors.ops.convolution import conv_transpose1d as conv_transpose1d
from minitorch_dist.tensors.ops.convolution import conv_transpose2d as conv_transpose2d
from minitorch_dist.tensors.ops.distances import pdist as pdist
from minitorch_dist.tensors.ops.grids import one_hot as one_hot
from minitorch_dist.tensors.ops.layer_norm import layer_norm as layer_norm
from minitorch_dist.tensors.ops.layer_norm import rms_norm as rms_norm
from minitorch_dist.tensors.ops.normalization import batch_norm as batch_norm
from minitorch_dist.tensors.ops.normalization import group_norm as group_norm
from minitorch_dist.tensors.ops.normalization import instance_norm as instance_norm
from minitorch_dist.tensors.ops.pooling import avg_pool1d as avg_pool1d
from minitorch_dist.tensors.ops.pooling import avg_pool2d as avg_pool2d
from minitorch_dist.tensors.ops.pooling import max_pool1d as max_pool1d
from minitorch_dist.tensors.ops.pooling import max_pool2d as max_pool2d
from minitorch_dist.tensors.ops.products import linear as linear
