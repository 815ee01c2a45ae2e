"""Layers as plain functions: what `nn`'s modules call, with their state as arguments."""

from minitorch_dist.nn.softmax import log_softmax as log_softmax
from minitorch_dist.nn.softmax import softmax as softmax
from minitorch_dist.nn.softmax import softmin as softmin
from minitorch_dist.tensors.ops.activations import celu as celu
from minitorch_dist.tensors.ops.activations import celu_ as celu_
from minitorch_dist.tensors.ops.activations import elu as elu
from minitorch_dist.tensors.ops.activations import elu_ as elu_
from minitorch_dist.tensors.ops.activations import gelu as gelu
from minitorch_dist.tensors.ops.activations import glu as glu
from minitorch_dist.tensors.ops.activations import logsigmoid as logsigmoid
from minitorch_dist.tensors.ops.activations import mish as mish
from minitorch_dist.tensors.ops.activations import selu as selu
from minitorch_dist.tensors.ops.activations import selu_ as selu_
from minitorch_dist.tensors.ops.activations import silu as silu
from minitorch_dist.tensors.ops.activations import softplus as softplus
from minitorch_dist.tensors.ops.activations import softsign as softsign
from minitorch_dist.tensors.ops.activations import tanhshrink as tanhshrink
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_max_pool1d as adaptive_max_pool1d
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_max_pool2d as adaptive_max_pool2d
from minitorch_dist.tensors.ops.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from minitorch_dist.tensors.ops.classification import cross_entropy as cross_entropy
from minitorch_dist.tensors.ops.classification import nll_loss as nll_loss
from minitorch_dist.tensors.ops.columns import fold as fold
from minitorch_dist.tensors.ops.columns import unfold as unfold
from minitorch_dist.tensors.ops.contraction import bilinear as bilinear
from minitorch_dist.tensors.ops.convolution import conv1d as conv1d
from minitorch_dist.tensors.ops.convolution import conv2d as conv2d
from minitorch_dist.tensors.ops.convolution import conv_transpose1d as conv_transpose1d
from minitorch_dist.tensors.ops.convolution import conv_transpose2d as conv_transpose2d
from minitorch_dist.tensors.ops.distances import pdist as pdist
from minitorch_dist.tensors.ops.dropout import alpha_dropout as alpha_dropout
from minitorch_dist.tensors.ops.dropout import dropout as dropout
from minitorch_dist.tensors.ops.dropout import dropout1d as dropout1d
from minitorch_dist.tensors.ops.dropout import dropout2d as dropout2d
from minitorch_dist.tensors.ops.dropout import dropout3d as dropout3d
from minitorch_dist.tensors.ops.dropout import feature_alpha_dropout as feature_alpha_dropout
from minitorch_dist.tensors.ops.embedding import embedding as embedding
from minitorch_dist.tensors.ops.embedding import embedding_bag as embedding_bag
from minitorch_dist.tensors.ops.exponentials import sigmoid as sigmoid
from minitorch_dist.tensors.ops.grids import one_hot as one_hot
from minitorch_dist.tensors.ops.layer_norm import layer_norm as layer_norm
from minitorch_dist.tensors.ops.layer_norm import rms_norm as rms_norm
from minitorch_dist.tensors.ops.linear import linear as linear
from minitorch_dist.tensors.ops.losses import binary_cross_entropy as binary_cross_entropy
from minitorch_dist.tensors.ops.losses import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from minitorch_dist.tensors.ops.losses import huber_loss as huber_loss
from minitorch_dist.tensors.ops.losses import kl_div as kl_div
from minitorch_dist.tensors.ops.losses import l1_loss as l1_loss
from minitorch_dist.tensors.ops.losses import mse_loss as mse_loss
from minitorch_dist.tensors.ops.losses import smooth_l1_loss as smooth_l1_loss
from minitorch_dist.tensors.ops.margins import cosine_embedding_loss as cosine_embedding_loss
from minitorch_dist.tensors.ops.margins import gaussian_nll_loss as gaussian_nll_loss
from minitorch_dist.tensors.ops.margins import hinge_embedding_loss as hinge_embedding_loss
from minitorch_dist.tensors.ops.margins import margin_ranking_loss as margin_ranking_loss
from minitorch_dist.tensors.ops.margins import multi_margin_loss as multi_margin_loss
from minitorch_dist.tensors.ops.margins import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from minitorch_dist.tensors.ops.margins import pairwise_distance as pairwise_distance
from minitorch_dist.tensors.ops.margins import poisson_nll_loss as poisson_nll_loss
from minitorch_dist.tensors.ops.margins import soft_margin_loss as soft_margin_loss
from minitorch_dist.tensors.ops.margins import triplet_margin_loss as triplet_margin_loss
from minitorch_dist.tensors.ops.margins import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from minitorch_dist.tensors.ops.multihead import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from minitorch_dist.tensors.ops.neighbours import local_response_norm as local_response_norm
from minitorch_dist.tensors.ops.normalization import batch_norm as batch_norm
from minitorch_dist.tensors.ops.normalization import group_norm as group_norm
from minitorch_dist.tensors.ops.normalization import instance_norm as instance_norm
from minitorch_dist.tensors.ops.padding import pad as pad
from minitorch_dist.tensors.ops.pixels import channel_shuffle as channel_shuffle
from minitorch_dist.tensors.ops.pixels import pixel_shuffle as pixel_shuffle
from minitorch_dist.tensors.ops.pixels import pixel_unshuffle as pixel_unshuffle
from minitorch_dist.tensors.ops.pooling import avg_pool1d as avg_pool1d
from minitorch_dist.tensors.ops.pooling import avg_pool2d as avg_pool2d
from minitorch_dist.tensors.ops.pooling import max_pool1d as max_pool1d
from minitorch_dist.tensors.ops.pooling import max_pool2d as max_pool2d
from minitorch_dist.tensors.ops.random_activations import gumbel_softmax as gumbel_softmax
from minitorch_dist.tensors.ops.random_activations import rrelu as rrelu
from minitorch_dist.tensors.ops.random_activations import rrelu_ as rrelu_
from minitorch_dist.tensors.ops.rectifiers import hardshrink as hardshrink
from minitorch_dist.tensors.ops.rectifiers import hardsigmoid as hardsigmoid
from minitorch_dist.tensors.ops.rectifiers import hardswish as hardswish
from minitorch_dist.tensors.ops.rectifiers import hardtanh as hardtanh
from minitorch_dist.tensors.ops.rectifiers import hardtanh_ as hardtanh_
from minitorch_dist.tensors.ops.rectifiers import leaky_relu as leaky_relu
from minitorch_dist.tensors.ops.rectifiers import leaky_relu_ as leaky_relu_
from minitorch_dist.tensors.ops.rectifiers import prelu as prelu
from minitorch_dist.tensors.ops.rectifiers import relu as relu
from minitorch_dist.tensors.ops.rectifiers import relu6 as relu6
from minitorch_dist.tensors.ops.rectifiers import relu_ as relu_
from minitorch_dist.tensors.ops.rectifiers import softshrink as softshrink
from minitorch_dist.tensors.ops.rectifiers import threshold as threshold
from minitorch_dist.tensors.ops.rectifiers import threshold_ as threshold_
from minitorch_dist.tensors.ops.resampling import interpolate as interpolate
from minitorch_dist.tensors.ops.resampling import upsample as upsample
from minitorch_dist.tensors.ops.similarity import cosine_similarity as cosine_similarity
from minitorch_dist.tensors.ops.similarity import normalize as normalize
from minitorch_dist.tensors.ops.trigonometry import tanh as tanh
