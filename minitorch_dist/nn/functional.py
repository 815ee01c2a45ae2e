"""Layers as plain functions: what `nn`'s modules call, with their state as arguments."""

from minitorch_dist.inventory import not_offered
from minitorch_dist.nn.softmax import log_softmax as log_softmax, softmax as softmax
from minitorch_dist.tensors.ops.elementwise.smooth import sigmoid as sigmoid, tanh as tanh
from minitorch_dist.tensors.ops.images.adaptive_pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from minitorch_dist.tensors.ops.images.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv_transpose2d as conv_transpose2d,
)
from minitorch_dist.tensors.ops.images.padding import pad as pad
from minitorch_dist.tensors.ops.images.pixels import pixel_shuffle as pixel_shuffle
from minitorch_dist.tensors.ops.images.pooling import avg_pool2d as avg_pool2d, max_pool2d as max_pool2d
from minitorch_dist.tensors.ops.layers.activations import (
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    logsigmoid as logsigmoid,
    silu as silu,
    softplus as softplus,
)
from minitorch_dist.tensors.ops.layers.attention import scaled_dot_product_attention as scaled_dot_product_attention
from minitorch_dist.tensors.ops.layers.classification import cross_entropy as cross_entropy, nll_loss as nll_loss
from minitorch_dist.tensors.ops.layers.dropout import dropout as dropout, dropout2d as dropout2d
from minitorch_dist.tensors.ops.layers.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
    one_hot as one_hot,
)
from minitorch_dist.tensors.ops.layers.layer_norm import layer_norm as layer_norm, rms_norm as rms_norm
from minitorch_dist.tensors.ops.layers.linear import linear as linear
from minitorch_dist.tensors.ops.layers.losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from minitorch_dist.tensors.ops.layers.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
)
from minitorch_dist.tensors.ops.layers.rectifiers import (
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    relu as relu,
    relu_ as relu_,
)
from minitorch_dist.tensors.ops.statistics.similarity import (
    cosine_similarity as cosine_similarity,
    normalize as normalize,
)

not_offered.guard(globals())
