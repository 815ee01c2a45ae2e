"""PyTorch's distributed stack from scratch: tensors, autograd, and everything between ranks.

The rooms that a program may do without (`nn`, `optim`, `utils`, …) are opened when they are first
named, so that importing the package stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from minitorch_dist import accelerator as accelerator
from minitorch_dist import autograd as autograd
from minitorch_dist import backends as backends
from minitorch_dist import cuda as cuda
from minitorch_dist import linalg as linalg
from minitorch_dist import random as random
from minitorch_dist import special as special
from minitorch_dist import version as version
from minitorch_dist.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from minitorch_dist.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from minitorch_dist.tensors.determinism import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from minitorch_dist.tensors.determinism import (
    get_deterministic_debug_mode as get_deterministic_debug_mode,
)
from minitorch_dist.tensors.determinism import (
    get_float32_matmul_precision as get_float32_matmul_precision,
)
from minitorch_dist.tensors.determinism import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from minitorch_dist.tensors.determinism import (
    set_deterministic_debug_mode as set_deterministic_debug_mode,
)
from minitorch_dist.tensors.determinism import (
    set_float32_matmul_precision as set_float32_matmul_precision,
)
from minitorch_dist.tensors.determinism import (
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from minitorch_dist.tensors.devices import AcceleratorError as AcceleratorError
from minitorch_dist.tensors.devices import device as device
from minitorch_dist.tensors.devices import get_default_device as get_default_device
from minitorch_dist.tensors.devices import set_default_device as set_default_device
from minitorch_dist.tensors.dtypes import bfloat16 as bfloat16
from minitorch_dist.tensors.dtypes import bool_ as bool
from minitorch_dist.tensors.dtypes import can_cast as can_cast
from minitorch_dist.tensors.dtypes import dtype as dtype
from minitorch_dist.tensors.dtypes import finfo as finfo
from minitorch_dist.tensors.dtypes import float16 as float16
from minitorch_dist.tensors.dtypes import float16 as half
from minitorch_dist.tensors.dtypes import float32 as float
from minitorch_dist.tensors.dtypes import float32 as float32
from minitorch_dist.tensors.dtypes import float64 as double
from minitorch_dist.tensors.dtypes import float64 as float64
from minitorch_dist.tensors.dtypes import get_default_dtype as get_default_dtype
from minitorch_dist.tensors.dtypes import iinfo as iinfo
from minitorch_dist.tensors.dtypes import int8 as int8
from minitorch_dist.tensors.dtypes import int16 as int16
from minitorch_dist.tensors.dtypes import int16 as short
from minitorch_dist.tensors.dtypes import int32 as int
from minitorch_dist.tensors.dtypes import int32 as int32
from minitorch_dist.tensors.dtypes import int64 as int64
from minitorch_dist.tensors.dtypes import int64 as long
from minitorch_dist.tensors.dtypes import promote_types as promote_types
from minitorch_dist.tensors.dtypes import set_default_dtype as set_default_dtype
from minitorch_dist.tensors.dtypes import uint8 as uint8
from minitorch_dist.tensors.generator import Generator as Generator
from minitorch_dist.tensors.generator import default as default_generator
from minitorch_dist.tensors.generator import get_rng_state as get_rng_state
from minitorch_dist.tensors.generator import initial_seed as initial_seed
from minitorch_dist.tensors.generator import manual_seed as manual_seed
from minitorch_dist.tensors.generator import seed as seed
from minitorch_dist.tensors.generator import set_rng_state as set_rng_state
from minitorch_dist.tensors.grad_mode import enable_grad as enable_grad
from minitorch_dist.tensors.grad_mode import inference_mode as inference_mode
from minitorch_dist.tensors.grad_mode import is_grad_enabled as is_grad_enabled
from minitorch_dist.tensors.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from minitorch_dist.tensors.grad_mode import no_grad as no_grad
from minitorch_dist.tensors.grad_mode import set_grad_enabled as set_grad_enabled
from minitorch_dist.tensors.ledger import OutOfMemoryError as OutOfMemoryError
from minitorch_dist.tensors.ops.activations import celu as celu
from minitorch_dist.tensors.ops.activations import celu_ as celu_
from minitorch_dist.tensors.ops.activations import selu as selu
from minitorch_dist.tensors.ops.activations import selu_ as selu_
from minitorch_dist.tensors.ops.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from minitorch_dist.tensors.ops.added_products import addbmm as addbmm
from minitorch_dist.tensors.ops.added_products import addmm as addmm
from minitorch_dist.tensors.ops.added_products import addmv as addmv
from minitorch_dist.tensors.ops.added_products import addr as addr
from minitorch_dist.tensors.ops.added_products import baddbmm as baddbmm
from minitorch_dist.tensors.ops.arithmetic import add as add
from minitorch_dist.tensors.ops.arithmetic import mul as mul
from minitorch_dist.tensors.ops.arithmetic import multiply as multiply
from minitorch_dist.tensors.ops.arithmetic import neg as neg
from minitorch_dist.tensors.ops.arithmetic import neg_ as neg_
from minitorch_dist.tensors.ops.arithmetic import negative as negative
from minitorch_dist.tensors.ops.arithmetic import negative_ as negative_
from minitorch_dist.tensors.ops.arithmetic import positive as positive
from minitorch_dist.tensors.ops.arithmetic import result_type as result_type
from minitorch_dist.tensors.ops.arithmetic import rsub as rsub
from minitorch_dist.tensors.ops.arithmetic import sub as sub
from minitorch_dist.tensors.ops.arithmetic import subtract as subtract
from minitorch_dist.tensors.ops.axes import adjoint as adjoint
from minitorch_dist.tensors.ops.axes import moveaxis as moveaxis
from minitorch_dist.tensors.ops.axes import movedim as movedim
from minitorch_dist.tensors.ops.axes import permute as permute
from minitorch_dist.tensors.ops.axes import swapaxes as swapaxes
from minitorch_dist.tensors.ops.axes import swapdims as swapdims
from minitorch_dist.tensors.ops.axes import t as t
from minitorch_dist.tensors.ops.axes import transpose as transpose
from minitorch_dist.tensors.ops.broadcasting import broadcast_shapes as broadcast_shapes
from minitorch_dist.tensors.ops.broadcasting import broadcast_tensors as broadcast_tensors
from minitorch_dist.tensors.ops.broadcasting import broadcast_to as broadcast_to
from minitorch_dist.tensors.ops.chains import chain_matmul as chain_matmul
from minitorch_dist.tensors.ops.comparison import allclose as allclose
from minitorch_dist.tensors.ops.comparison import eq as eq
from minitorch_dist.tensors.ops.comparison import equal as equal
from minitorch_dist.tensors.ops.comparison import ge as ge
from minitorch_dist.tensors.ops.comparison import greater as greater
from minitorch_dist.tensors.ops.comparison import greater_equal as greater_equal
from minitorch_dist.tensors.ops.comparison import gt as gt
from minitorch_dist.tensors.ops.comparison import heaviside as heaviside
from minitorch_dist.tensors.ops.comparison import isclose as isclose
from minitorch_dist.tensors.ops.comparison import isfinite as isfinite
from minitorch_dist.tensors.ops.comparison import isin as isin
from minitorch_dist.tensors.ops.comparison import isinf as isinf
from minitorch_dist.tensors.ops.comparison import isnan as isnan
from minitorch_dist.tensors.ops.comparison import isneginf as isneginf
from minitorch_dist.tensors.ops.comparison import isposinf as isposinf
from minitorch_dist.tensors.ops.comparison import isreal as isreal
from minitorch_dist.tensors.ops.comparison import le as le
from minitorch_dist.tensors.ops.comparison import less as less
from minitorch_dist.tensors.ops.comparison import less_equal as less_equal
from minitorch_dist.tensors.ops.comparison import lt as lt
from minitorch_dist.tensors.ops.comparison import ne as ne
from minitorch_dist.tensors.ops.comparison import not_equal as not_equal
from minitorch_dist.tensors.ops.comparison import where as where
from minitorch_dist.tensors.ops.contraction import bilinear as bilinear
from minitorch_dist.tensors.ops.contraction import einsum as einsum
from minitorch_dist.tensors.ops.contraction import kron as kron
from minitorch_dist.tensors.ops.contraction import tensordot as tensordot
from minitorch_dist.tensors.ops.conversion import is_tensor as is_tensor
from minitorch_dist.tensors.ops.convolution import conv1d as conv1d
from minitorch_dist.tensors.ops.convolution import conv2d as conv2d
from minitorch_dist.tensors.ops.convolution import conv_transpose1d as conv_transpose1d
from minitorch_dist.tensors.ops.convolution import conv_transpose2d as conv_transpose2d
from minitorch_dist.tensors.ops.copying import clone as clone
from minitorch_dist.tensors.ops.copying import detach as detach
from minitorch_dist.tensors.ops.copying import detach_ as detach_
from minitorch_dist.tensors.ops.counting import argwhere as argwhere
from minitorch_dist.tensors.ops.counting import bincount as bincount
from minitorch_dist.tensors.ops.counting import bucketize as bucketize
from minitorch_dist.tensors.ops.counting import histc as histc
from minitorch_dist.tensors.ops.counting import histogram as histogram
from minitorch_dist.tensors.ops.counting import nonzero as nonzero
from minitorch_dist.tensors.ops.counting import searchsorted as searchsorted
from minitorch_dist.tensors.ops.counting import unique as unique
from minitorch_dist.tensors.ops.counting import unique_consecutive as unique_consecutive
from minitorch_dist.tensors.ops.covariance import corrcoef as corrcoef
from minitorch_dist.tensors.ops.covariance import cov as cov
from minitorch_dist.tensors.ops.creation import as_tensor as as_tensor
from minitorch_dist.tensors.ops.creation import asarray as asarray
from minitorch_dist.tensors.ops.creation import empty as empty
from minitorch_dist.tensors.ops.creation import empty_like as empty_like
from minitorch_dist.tensors.ops.creation import full as full
from minitorch_dist.tensors.ops.creation import full_like as full_like
from minitorch_dist.tensors.ops.creation import ones as ones
from minitorch_dist.tensors.ops.creation import ones_like as ones_like
from minitorch_dist.tensors.ops.creation import scalar_tensor as scalar_tensor
from minitorch_dist.tensors.ops.creation import tensor as tensor
from minitorch_dist.tensors.ops.creation import zeros as zeros
from minitorch_dist.tensors.ops.creation import zeros_like as zeros_like
from minitorch_dist.tensors.ops.decompositions import cholesky as cholesky
from minitorch_dist.tensors.ops.decompositions import torch_qr as qr
from minitorch_dist.tensors.ops.decompositions import torch_svd as svd
from minitorch_dist.tensors.ops.differences import cumulative_trapezoid as cumulative_trapezoid
from minitorch_dist.tensors.ops.differences import diff as diff
from minitorch_dist.tensors.ops.differences import gradient as gradient
from minitorch_dist.tensors.ops.differences import trapezoid as trapezoid
from minitorch_dist.tensors.ops.differences import trapz as trapz
from minitorch_dist.tensors.ops.distances import cdist as cdist
from minitorch_dist.tensors.ops.distances import pdist as pdist
from minitorch_dist.tensors.ops.division import div as div
from minitorch_dist.tensors.ops.division import divide as divide
from minitorch_dist.tensors.ops.division import floor_divide as floor_divide
from minitorch_dist.tensors.ops.division import fmod as fmod
from minitorch_dist.tensors.ops.division import remainder as remainder
from minitorch_dist.tensors.ops.division import true_divide as true_divide
from minitorch_dist.tensors.ops.draws import bernoulli as bernoulli
from minitorch_dist.tensors.ops.draws import multinomial as multinomial
from minitorch_dist.tensors.ops.draws import poisson as poisson
from minitorch_dist.tensors.ops.dropout import alpha_dropout as alpha_dropout
from minitorch_dist.tensors.ops.dropout import dropout as dropout
from minitorch_dist.tensors.ops.dropout import feature_alpha_dropout as feature_alpha_dropout
from minitorch_dist.tensors.ops.error_function import erf as erf
from minitorch_dist.tensors.ops.error_function import erf_ as erf_
from minitorch_dist.tensors.ops.error_function import erfc as erfc
from minitorch_dist.tensors.ops.error_function import erfc_ as erfc_
from minitorch_dist.tensors.ops.error_function import erfinv as erfinv
from minitorch_dist.tensors.ops.exchange import from_dlpack as from_dlpack
from minitorch_dist.tensors.ops.exchange import from_numpy as from_numpy
from minitorch_dist.tensors.ops.exchange import frombuffer as frombuffer
from minitorch_dist.tensors.ops.exchange import to_dlpack as to_dlpack
from minitorch_dist.tensors.ops.exponentials import exp as exp
from minitorch_dist.tensors.ops.exponentials import exp2 as exp2
from minitorch_dist.tensors.ops.exponentials import exp2_ as exp2_
from minitorch_dist.tensors.ops.exponentials import exp_ as exp_
from minitorch_dist.tensors.ops.exponentials import expm1 as expm1
from minitorch_dist.tensors.ops.exponentials import expm1_ as expm1_
from minitorch_dist.tensors.ops.exponentials import ldexp as ldexp
from minitorch_dist.tensors.ops.exponentials import ldexp_ as ldexp_
from minitorch_dist.tensors.ops.exponentials import log as log
from minitorch_dist.tensors.ops.exponentials import log1p as log1p
from minitorch_dist.tensors.ops.exponentials import log1p_ as log1p_
from minitorch_dist.tensors.ops.exponentials import log2 as log2
from minitorch_dist.tensors.ops.exponentials import log2_ as log2_
from minitorch_dist.tensors.ops.exponentials import log10 as log10
from minitorch_dist.tensors.ops.exponentials import log10_ as log10_
from minitorch_dist.tensors.ops.exponentials import log_ as log_
from minitorch_dist.tensors.ops.exponentials import logaddexp as logaddexp
from minitorch_dist.tensors.ops.exponentials import logaddexp2 as logaddexp2
from minitorch_dist.tensors.ops.exponentials import logit as logit
from minitorch_dist.tensors.ops.exponentials import logit_ as logit_
from minitorch_dist.tensors.ops.exponentials import sigmoid as sigmoid
from minitorch_dist.tensors.ops.exponentials import sigmoid_ as sigmoid_
from minitorch_dist.tensors.ops.exponentials import xlogy as xlogy
from minitorch_dist.tensors.ops.exponentials import xlogy_ as xlogy_
from minitorch_dist.tensors.ops.extrema import amax as amax
from minitorch_dist.tensors.ops.extrema import amin as amin
from minitorch_dist.tensors.ops.extrema import aminmax as aminmax
from minitorch_dist.tensors.ops.extrema import argmax as argmax
from minitorch_dist.tensors.ops.extrema import argmin as argmin
from minitorch_dist.tensors.ops.extrema import max as max
from minitorch_dist.tensors.ops.extrema import min as min
from minitorch_dist.tensors.ops.extremes import clamp as clamp
from minitorch_dist.tensors.ops.extremes import clamp_ as clamp_
from minitorch_dist.tensors.ops.extremes import clamp_max as clamp_max
from minitorch_dist.tensors.ops.extremes import clamp_max_ as clamp_max_
from minitorch_dist.tensors.ops.extremes import clamp_min as clamp_min
from minitorch_dist.tensors.ops.extremes import clamp_min_ as clamp_min_
from minitorch_dist.tensors.ops.extremes import clip as clip
from minitorch_dist.tensors.ops.extremes import clip_ as clip_
from minitorch_dist.tensors.ops.extremes import fmax as fmax
from minitorch_dist.tensors.ops.extremes import fmin as fmin
from minitorch_dist.tensors.ops.extremes import maximum as maximum
from minitorch_dist.tensors.ops.extremes import minimum as minimum
from minitorch_dist.tensors.ops.filling import fill_ as fill_
from minitorch_dist.tensors.ops.filling import zero_ as zero_
from minitorch_dist.tensors.ops.flat_indexing import put as put
from minitorch_dist.tensors.ops.flat_indexing import take as take
from minitorch_dist.tensors.ops.flat_indexing import unravel_index as unravel_index
from minitorch_dist.tensors.ops.gamma import digamma as digamma
from minitorch_dist.tensors.ops.gamma import lgamma as lgamma
from minitorch_dist.tensors.ops.gathering import gather as gather
from minitorch_dist.tensors.ops.gathering import scatter as scatter
from minitorch_dist.tensors.ops.gathering import scatter_add as scatter_add
from minitorch_dist.tensors.ops.gathering import take_along_dim as take_along_dim
from minitorch_dist.tensors.ops.gradients import is_inference as is_inference
from minitorch_dist.tensors.ops.grids import block_diag as block_diag
from minitorch_dist.tensors.ops.grids import cartesian_prod as cartesian_prod
from minitorch_dist.tensors.ops.grids import combinations as combinations
from minitorch_dist.tensors.ops.grids import meshgrid as meshgrid
from minitorch_dist.tensors.ops.grids import vander as vander
from minitorch_dist.tensors.ops.joining import atleast_1d as atleast_1d
from minitorch_dist.tensors.ops.joining import atleast_2d as atleast_2d
from minitorch_dist.tensors.ops.joining import atleast_3d as atleast_3d
from minitorch_dist.tensors.ops.joining import cat as cat
from minitorch_dist.tensors.ops.joining import column_stack as column_stack
from minitorch_dist.tensors.ops.joining import concat as concat
from minitorch_dist.tensors.ops.joining import concatenate as concatenate
from minitorch_dist.tensors.ops.joining import dstack as dstack
from minitorch_dist.tensors.ops.joining import hstack as hstack
from minitorch_dist.tensors.ops.joining import row_stack as row_stack
from minitorch_dist.tensors.ops.joining import stack as stack
from minitorch_dist.tensors.ops.joining import vstack as vstack
from minitorch_dist.tensors.ops.layer_norm import layer_norm as layer_norm
from minitorch_dist.tensors.ops.layer_norm import rms_norm as rms_norm
from minitorch_dist.tensors.ops.layout import channels_last as channels_last
from minitorch_dist.tensors.ops.layout import contiguous_format as contiguous_format
from minitorch_dist.tensors.ops.layout import get_device as get_device
from minitorch_dist.tensors.ops.layout import is_complex as is_complex
from minitorch_dist.tensors.ops.layout import is_floating_point as is_floating_point
from minitorch_dist.tensors.ops.layout import is_same_size as is_same_size
from minitorch_dist.tensors.ops.layout import is_signed as is_signed
from minitorch_dist.tensors.ops.layout import layout as layout
from minitorch_dist.tensors.ops.layout import memory_format as memory_format
from minitorch_dist.tensors.ops.layout import numel as numel
from minitorch_dist.tensors.ops.layout import preserve_format as preserve_format
from minitorch_dist.tensors.ops.layout import strided as strided
from minitorch_dist.tensors.ops.legacy import BFloat16Tensor as BFloat16Tensor
from minitorch_dist.tensors.ops.legacy import BoolTensor as BoolTensor
from minitorch_dist.tensors.ops.legacy import ByteTensor as ByteTensor
from minitorch_dist.tensors.ops.legacy import CharTensor as CharTensor
from minitorch_dist.tensors.ops.legacy import DoubleTensor as DoubleTensor
from minitorch_dist.tensors.ops.legacy import FloatTensor as FloatTensor
from minitorch_dist.tensors.ops.legacy import HalfTensor as HalfTensor
from minitorch_dist.tensors.ops.legacy import IntTensor as IntTensor
from minitorch_dist.tensors.ops.legacy import LongTensor as LongTensor
from minitorch_dist.tensors.ops.legacy import ShortTensor as ShortTensor
from minitorch_dist.tensors.ops.logic import bitwise_and as bitwise_and
from minitorch_dist.tensors.ops.logic import bitwise_left_shift as bitwise_left_shift
from minitorch_dist.tensors.ops.logic import bitwise_not as bitwise_not
from minitorch_dist.tensors.ops.logic import bitwise_or as bitwise_or
from minitorch_dist.tensors.ops.logic import bitwise_right_shift as bitwise_right_shift
from minitorch_dist.tensors.ops.logic import bitwise_xor as bitwise_xor
from minitorch_dist.tensors.ops.logic import gcd as gcd
from minitorch_dist.tensors.ops.logic import gcd_ as gcd_
from minitorch_dist.tensors.ops.logic import lcm as lcm
from minitorch_dist.tensors.ops.logic import lcm_ as lcm_
from minitorch_dist.tensors.ops.logic import logical_and as logical_and
from minitorch_dist.tensors.ops.logic import logical_not as logical_not
from minitorch_dist.tensors.ops.logic import logical_or as logical_or
from minitorch_dist.tensors.ops.logic import logical_xor as logical_xor
from minitorch_dist.tensors.ops.margins import pairwise_distance as pairwise_distance
from minitorch_dist.tensors.ops.masking import masked_fill as masked_fill
from minitorch_dist.tensors.ops.masking import masked_scatter as masked_scatter
from minitorch_dist.tensors.ops.masking import masked_select as masked_select
from minitorch_dist.tensors.ops.matrices import cross as cross
from minitorch_dist.tensors.ops.matrices import matrix_exp as matrix_exp
from minitorch_dist.tensors.ops.matrices import trace as trace
from minitorch_dist.tensors.ops.matrix_norms import norm as norm
from minitorch_dist.tensors.ops.mixtures import addcdiv as addcdiv
from minitorch_dist.tensors.ops.mixtures import addcmul as addcmul
from minitorch_dist.tensors.ops.mixtures import lerp as lerp
from minitorch_dist.tensors.ops.normalization import group_norm as group_norm
from minitorch_dist.tensors.ops.norms import dist as dist
from minitorch_dist.tensors.ops.ordering import argsort as argsort
from minitorch_dist.tensors.ops.ordering import kthvalue as kthvalue
from minitorch_dist.tensors.ops.ordering import msort as msort
from minitorch_dist.tensors.ops.ordering import sort as sort
from minitorch_dist.tensors.ops.ordering import topk as topk
from minitorch_dist.tensors.ops.pieces import chunk as chunk
from minitorch_dist.tensors.ops.pieces import diagonal as diagonal
from minitorch_dist.tensors.ops.pieces import dsplit as dsplit
from minitorch_dist.tensors.ops.pieces import hsplit as hsplit
from minitorch_dist.tensors.ops.pieces import narrow as narrow
from minitorch_dist.tensors.ops.pieces import narrow_copy as narrow_copy
from minitorch_dist.tensors.ops.pieces import select as select
from minitorch_dist.tensors.ops.pieces import split as split
from minitorch_dist.tensors.ops.pieces import split_with_sizes as split_with_sizes
from minitorch_dist.tensors.ops.pieces import tensor_split as tensor_split
from minitorch_dist.tensors.ops.pieces import unbind as unbind
from minitorch_dist.tensors.ops.pieces import vsplit as vsplit
from minitorch_dist.tensors.ops.pixels import channel_shuffle as channel_shuffle
from minitorch_dist.tensors.ops.pixels import pixel_shuffle as pixel_shuffle
from minitorch_dist.tensors.ops.pixels import pixel_unshuffle as pixel_unshuffle
from minitorch_dist.tensors.ops.pooling import avg_pool1d as avg_pool1d
from minitorch_dist.tensors.ops.pooling import max_pool1d as max_pool1d
from minitorch_dist.tensors.ops.pooling import max_pool2d as max_pool2d
from minitorch_dist.tensors.ops.powers import float_power as float_power
from minitorch_dist.tensors.ops.powers import pow as pow
from minitorch_dist.tensors.ops.powers import reciprocal as reciprocal
from minitorch_dist.tensors.ops.powers import reciprocal_ as reciprocal_
from minitorch_dist.tensors.ops.powers import rsqrt as rsqrt
from minitorch_dist.tensors.ops.powers import rsqrt_ as rsqrt_
from minitorch_dist.tensors.ops.powers import sqrt as sqrt
from minitorch_dist.tensors.ops.powers import sqrt_ as sqrt_
from minitorch_dist.tensors.ops.powers import square as square
from minitorch_dist.tensors.ops.powers import square_ as square_
from minitorch_dist.tensors.ops.products import bmm as bmm
from minitorch_dist.tensors.ops.products import dot as dot
from minitorch_dist.tensors.ops.products import ger as ger
from minitorch_dist.tensors.ops.products import inner as inner
from minitorch_dist.tensors.ops.products import matmul as matmul
from minitorch_dist.tensors.ops.products import mm as mm
from minitorch_dist.tensors.ops.products import mv as mv
from minitorch_dist.tensors.ops.products import outer as outer
from minitorch_dist.tensors.ops.products import vdot as vdot
from minitorch_dist.tensors.ops.pseudoinverse import pinv as pinverse
from minitorch_dist.tensors.ops.quantiles import median as median
from minitorch_dist.tensors.ops.quantiles import mode as mode
from minitorch_dist.tensors.ops.quantiles import nanmedian as nanmedian
from minitorch_dist.tensors.ops.quantiles import nanquantile as nanquantile
from minitorch_dist.tensors.ops.quantiles import quantile as quantile
from minitorch_dist.tensors.ops.random import normal as normal
from minitorch_dist.tensors.ops.random import rand as rand
from minitorch_dist.tensors.ops.random import rand_like as rand_like
from minitorch_dist.tensors.ops.random import randint as randint
from minitorch_dist.tensors.ops.random import randint_like as randint_like
from minitorch_dist.tensors.ops.random import randn as randn
from minitorch_dist.tensors.ops.random import randn_like as randn_like
from minitorch_dist.tensors.ops.random import randperm as randperm
from minitorch_dist.tensors.ops.random_activations import rrelu as rrelu
from minitorch_dist.tensors.ops.random_activations import rrelu_ as rrelu_
from minitorch_dist.tensors.ops.ranges import arange as arange
from minitorch_dist.tensors.ops.ranges import eye as eye
from minitorch_dist.tensors.ops.ranges import linspace as linspace
from minitorch_dist.tensors.ops.ranges import logspace as logspace
from minitorch_dist.tensors.ops.ranges import range as range
from minitorch_dist.tensors.ops.ranges import tril_indices as tril_indices
from minitorch_dist.tensors.ops.ranges import triu_indices as triu_indices
from minitorch_dist.tensors.ops.realness import conj as conj
from minitorch_dist.tensors.ops.realness import conj_physical as conj_physical
from minitorch_dist.tensors.ops.realness import imag as imag
from minitorch_dist.tensors.ops.realness import is_conj as is_conj
from minitorch_dist.tensors.ops.realness import is_neg as is_neg
from minitorch_dist.tensors.ops.realness import real as real
from minitorch_dist.tensors.ops.realness import resolve_conj as resolve_conj
from minitorch_dist.tensors.ops.realness import resolve_neg as resolve_neg
from minitorch_dist.tensors.ops.rearranging import diag as diag
from minitorch_dist.tensors.ops.rearranging import diag_embed as diag_embed
from minitorch_dist.tensors.ops.rearranging import diagflat as diagflat
from minitorch_dist.tensors.ops.rearranging import diagonal_copy as diagonal_copy
from minitorch_dist.tensors.ops.rearranging import flip as flip
from minitorch_dist.tensors.ops.rearranging import fliplr as fliplr
from minitorch_dist.tensors.ops.rearranging import flipud as flipud
from minitorch_dist.tensors.ops.rearranging import repeat_interleave as repeat_interleave
from minitorch_dist.tensors.ops.rearranging import roll as roll
from minitorch_dist.tensors.ops.rearranging import rot90 as rot90
from minitorch_dist.tensors.ops.rearranging import tile as tile
from minitorch_dist.tensors.ops.rearranging import tril as tril
from minitorch_dist.tensors.ops.rearranging import triu as triu
from minitorch_dist.tensors.ops.rectifiers import hardshrink as hardshrink
from minitorch_dist.tensors.ops.rectifiers import prelu as prelu
from minitorch_dist.tensors.ops.rectifiers import relu as relu
from minitorch_dist.tensors.ops.rectifiers import relu_ as relu_
from minitorch_dist.tensors.ops.rectifiers import threshold as threshold
from minitorch_dist.tensors.ops.rectifiers import threshold_ as threshold_
from minitorch_dist.tensors.ops.reductions import all as all
from minitorch_dist.tensors.ops.reductions import any as any
from minitorch_dist.tensors.ops.reductions import count_nonzero as count_nonzero
from minitorch_dist.tensors.ops.reductions import mean as mean
from minitorch_dist.tensors.ops.reductions import nanmean as nanmean
from minitorch_dist.tensors.ops.reductions import nansum as nansum
from minitorch_dist.tensors.ops.reductions import prod as prod
from minitorch_dist.tensors.ops.reductions import sum as sum
from minitorch_dist.tensors.ops.replacing import diagonal_scatter as diagonal_scatter
from minitorch_dist.tensors.ops.replacing import select_scatter as select_scatter
from minitorch_dist.tensors.ops.replacing import slice_scatter as slice_scatter
from minitorch_dist.tensors.ops.reshaping import flatten as flatten
from minitorch_dist.tensors.ops.reshaping import ravel as ravel
from minitorch_dist.tensors.ops.reshaping import reshape as reshape
from minitorch_dist.tensors.ops.reshaping import squeeze as squeeze
from minitorch_dist.tensors.ops.reshaping import unflatten as unflatten
from minitorch_dist.tensors.ops.reshaping import unsqueeze as unsqueeze
from minitorch_dist.tensors.ops.rounding import abs as abs
from minitorch_dist.tensors.ops.rounding import abs_ as abs_
from minitorch_dist.tensors.ops.rounding import absolute as absolute
from minitorch_dist.tensors.ops.rounding import ceil as ceil
from minitorch_dist.tensors.ops.rounding import ceil_ as ceil_
from minitorch_dist.tensors.ops.rounding import copysign as copysign
from minitorch_dist.tensors.ops.rounding import fix as fix
from minitorch_dist.tensors.ops.rounding import fix_ as fix_
from minitorch_dist.tensors.ops.rounding import floor as floor
from minitorch_dist.tensors.ops.rounding import floor_ as floor_
from minitorch_dist.tensors.ops.rounding import frac as frac
from minitorch_dist.tensors.ops.rounding import frac_ as frac_
from minitorch_dist.tensors.ops.rounding import nan_to_num as nan_to_num
from minitorch_dist.tensors.ops.rounding import nan_to_num_ as nan_to_num_
from minitorch_dist.tensors.ops.rounding import nextafter as nextafter
from minitorch_dist.tensors.ops.rounding import round as round
from minitorch_dist.tensors.ops.rounding import round_ as round_
from minitorch_dist.tensors.ops.rounding import sgn as sgn
from minitorch_dist.tensors.ops.rounding import sign as sign
from minitorch_dist.tensors.ops.rounding import signbit as signbit
from minitorch_dist.tensors.ops.rounding import trunc as trunc
from minitorch_dist.tensors.ops.rounding import trunc_ as trunc_
from minitorch_dist.tensors.ops.scalars import is_nonzero as is_nonzero
from minitorch_dist.tensors.ops.scans import cummax as cummax
from minitorch_dist.tensors.ops.scans import cummin as cummin
from minitorch_dist.tensors.ops.scans import cumprod as cumprod
from minitorch_dist.tensors.ops.scans import cumsum as cumsum
from minitorch_dist.tensors.ops.scans import logcumsumexp as logcumsumexp
from minitorch_dist.tensors.ops.scatter_reduction import index_reduce as index_reduce
from minitorch_dist.tensors.ops.scatter_reduction import scatter_reduce as scatter_reduce
from minitorch_dist.tensors.ops.selecting import index_add as index_add
from minitorch_dist.tensors.ops.selecting import index_copy as index_copy
from minitorch_dist.tensors.ops.selecting import index_fill as index_fill
from minitorch_dist.tensors.ops.selecting import index_put as index_put
from minitorch_dist.tensors.ops.selecting import index_put_ as index_put_
from minitorch_dist.tensors.ops.selecting import index_select as index_select
from minitorch_dist.tensors.ops.similarity import cosine_similarity as cosine_similarity
from minitorch_dist.tensors.ops.softmaxes import log_softmax as log_softmax
from minitorch_dist.tensors.ops.softmaxes import logsumexp as logsumexp
from minitorch_dist.tensors.ops.softmaxes import softmax as softmax
from minitorch_dist.tensors.ops.solving import cholesky_inverse as cholesky_inverse
from minitorch_dist.tensors.ops.solving import cholesky_solve as cholesky_solve
from minitorch_dist.tensors.ops.solving import det as det
from minitorch_dist.tensors.ops.solving import inv as inverse
from minitorch_dist.tensors.ops.solving import logdet as logdet
from minitorch_dist.tensors.ops.solving import matrix_power as matrix_power
from minitorch_dist.tensors.ops.solving import slogdet as slogdet
from minitorch_dist.tensors.ops.solving import triangular_solve as triangular_solve
from minitorch_dist.tensors.ops.striding import as_strided as as_strided
from minitorch_dist.tensors.ops.trigonometry import acos as acos
from minitorch_dist.tensors.ops.trigonometry import acos_ as acos_
from minitorch_dist.tensors.ops.trigonometry import acosh as acosh
from minitorch_dist.tensors.ops.trigonometry import acosh_ as acosh_
from minitorch_dist.tensors.ops.trigonometry import arccos as arccos
from minitorch_dist.tensors.ops.trigonometry import arccos_ as arccos_
from minitorch_dist.tensors.ops.trigonometry import arccosh as arccosh
from minitorch_dist.tensors.ops.trigonometry import arccosh_ as arccosh_
from minitorch_dist.tensors.ops.trigonometry import arcsin as arcsin
from minitorch_dist.tensors.ops.trigonometry import arcsin_ as arcsin_
from minitorch_dist.tensors.ops.trigonometry import arcsinh as arcsinh
from minitorch_dist.tensors.ops.trigonometry import arcsinh_ as arcsinh_
from minitorch_dist.tensors.ops.trigonometry import arctan as arctan
from minitorch_dist.tensors.ops.trigonometry import arctan2 as arctan2
from minitorch_dist.tensors.ops.trigonometry import arctan_ as arctan_
from minitorch_dist.tensors.ops.trigonometry import arctanh as arctanh
from minitorch_dist.tensors.ops.trigonometry import arctanh_ as arctanh_
from minitorch_dist.tensors.ops.trigonometry import asin as asin
from minitorch_dist.tensors.ops.trigonometry import asin_ as asin_
from minitorch_dist.tensors.ops.trigonometry import asinh as asinh
from minitorch_dist.tensors.ops.trigonometry import asinh_ as asinh_
from minitorch_dist.tensors.ops.trigonometry import atan as atan
from minitorch_dist.tensors.ops.trigonometry import atan2 as atan2
from minitorch_dist.tensors.ops.trigonometry import atan_ as atan_
from minitorch_dist.tensors.ops.trigonometry import atanh as atanh
from minitorch_dist.tensors.ops.trigonometry import atanh_ as atanh_
from minitorch_dist.tensors.ops.trigonometry import cos as cos
from minitorch_dist.tensors.ops.trigonometry import cos_ as cos_
from minitorch_dist.tensors.ops.trigonometry import cosh as cosh
from minitorch_dist.tensors.ops.trigonometry import cosh_ as cosh_
from minitorch_dist.tensors.ops.trigonometry import deg2rad as deg2rad
from minitorch_dist.tensors.ops.trigonometry import deg2rad_ as deg2rad_
from minitorch_dist.tensors.ops.trigonometry import hypot as hypot
from minitorch_dist.tensors.ops.trigonometry import rad2deg as rad2deg
from minitorch_dist.tensors.ops.trigonometry import rad2deg_ as rad2deg_
from minitorch_dist.tensors.ops.trigonometry import sin as sin
from minitorch_dist.tensors.ops.trigonometry import sin_ as sin_
from minitorch_dist.tensors.ops.trigonometry import sinc as sinc
from minitorch_dist.tensors.ops.trigonometry import sinc_ as sinc_
from minitorch_dist.tensors.ops.trigonometry import sinh as sinh
from minitorch_dist.tensors.ops.trigonometry import sinh_ as sinh_
from minitorch_dist.tensors.ops.trigonometry import tan as tan
from minitorch_dist.tensors.ops.trigonometry import tan_ as tan_
from minitorch_dist.tensors.ops.trigonometry import tanh as tanh
from minitorch_dist.tensors.ops.trigonometry import tanh_ as tanh_
from minitorch_dist.tensors.ops.variance import std as std
from minitorch_dist.tensors.ops.variance import std_mean as std_mean
from minitorch_dist.tensors.ops.variance import var as var
from minitorch_dist.tensors.ops.variance import var_mean as var_mean
from minitorch_dist.tensors.printing import get_printoptions as get_printoptions
from minitorch_dist.tensors.printing import set_printoptions as set_printoptions
from minitorch_dist.tensors.size import Size as Size
from minitorch_dist.tensors.tensor import Tensor as Tensor
from minitorch_dist.tensors.threads import get_num_interop_threads as get_num_interop_threads
from minitorch_dist.tensors.threads import get_num_threads as get_num_threads
from minitorch_dist.tensors.threads import set_num_interop_threads as set_num_interop_threads
from minitorch_dist.tensors.threads import set_num_threads as set_num_threads
from minitorch_dist.version import __version__ as __version__

if TYPE_CHECKING:
    from minitorch_dist import datasets as datasets
    from minitorch_dist import func as func
    from minitorch_dist import futures as futures
    from minitorch_dist import models as models
    from minitorch_dist import nn as nn
    from minitorch_dist import optim as optim
    from minitorch_dist import transforms as transforms
    from minitorch_dist import utils as utils
    from minitorch_dist.serialization import SerializationError as SerializationError
    from minitorch_dist.serialization import load as load
    from minitorch_dist.serialization import save as save

_ROOMS = {
    "datasets",
    "func",
    "futures",
    "models",
    "nn",
    "optim",
    "transforms",
    "utils",
}
_FROM = {"SerializationError": "serialization", "load": "serialization", "save": "serialization"}


def __getattr__(name: str) -> Any:
    """Open a room when it is first named."""
    if name in _ROOMS:
        return importlib.import_module(f"minitorch_dist.{name}")
    if name in _FROM:
        value = getattr(importlib.import_module(f"minitorch_dist.{_FROM[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'minitorch_dist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_FROM})
