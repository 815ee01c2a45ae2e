"""Layers as plain functions: what `nn`'s modules call, with their state as arguments."""

from minitorch_dist import not_offered
from minitorch_dist.nn.softmax import (
    log_softmax as log_softmax,
    softmax as softmax,
    softmin as softmin,
)
from minitorch_dist.tensors.extras.rearranging import one_hot as one_hot
from minitorch_dist.tensors.ops.elementwise.exponentials import sigmoid as sigmoid
from minitorch_dist.tensors.ops.elementwise.trigonometry import tanh as tanh
from minitorch_dist.tensors.ops.images.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
)
from minitorch_dist.tensors.ops.images.columns import fold as fold, unfold as unfold
from minitorch_dist.tensors.ops.images.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
)
from minitorch_dist.tensors.ops.images.neighbours import local_response_norm as local_response_norm
from minitorch_dist.tensors.ops.images.padding import pad as pad
from minitorch_dist.tensors.ops.images.pixels import (
    channel_shuffle as channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)
from minitorch_dist.tensors.ops.images.pooling import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
)
from minitorch_dist.tensors.ops.images.resampling import (
    interpolate as interpolate,
    upsample as upsample,
)
from minitorch_dist.tensors.ops.images.volumes import (
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool3d as adaptive_max_pool3d,
    avg_pool3d as avg_pool3d,
    conv3d as conv3d,
    conv_transpose3d as conv_transpose3d,
    max_pool3d as max_pool3d,
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from minitorch_dist.tensors.ops.layers.activations import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    glu as glu,
    logsigmoid as logsigmoid,
    mish as mish,
    selu as selu,
    selu_ as selu_,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    tanhshrink as tanhshrink,
)
from minitorch_dist.tensors.ops.layers.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from minitorch_dist.tensors.ops.layers.classification import (
    cross_entropy as cross_entropy,
    nll_loss as nll_loss,
)
from minitorch_dist.tensors.ops.layers.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from minitorch_dist.tensors.ops.layers.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
)
from minitorch_dist.tensors.ops.layers.layer_norm import (
    layer_norm as layer_norm,
    rms_norm as rms_norm,
)
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
from minitorch_dist.tensors.ops.layers.margins import (
    cosine_embedding_loss as cosine_embedding_loss,
    gaussian_nll_loss as gaussian_nll_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    pairwise_distance as pairwise_distance,
    poisson_nll_loss as poisson_nll_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from minitorch_dist.tensors.ops.layers.multihead import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from minitorch_dist.tensors.ops.layers.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
)
from minitorch_dist.tensors.ops.layers.random_activations import (
    gumbel_softmax as gumbel_softmax,
    rrelu as rrelu,
    rrelu_ as rrelu_,
)
from minitorch_dist.tensors.ops.layers.rectifiers import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    prelu as prelu,
    relu as relu,
    relu6 as relu6,
    relu_ as relu_,
    softshrink as softshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from minitorch_dist.tensors.ops.linear_algebra.contraction import bilinear as bilinear
from minitorch_dist.tensors.ops.statistics.similarity import (
    cosine_similarity as cosine_similarity,
    normalize as normalize,
)

not_offered.guard(globals())
