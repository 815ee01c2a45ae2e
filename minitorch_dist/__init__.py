"""PyTorch's distributed stack from scratch: tensors, autograd, and everything between ranks.

The packages that a program may do without (`nn`, `optim`, `utils`, …) are imported when they are first named, so that
importing the package stays quick.
"""

from __future__ import annotations

import importlib
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from minitorch_dist import autograd as autograd, cuda as cuda
from minitorch_dist.inventory import not_offered as not_offered
from minitorch_dist.inventory.no_compiler import compile as compile
from minitorch_dist.inventory.release import __version__ as __version__
from minitorch_dist.tensors.autograd.grad_modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from minitorch_dist.tensors.core.operations import add as add, mul as mul, sum as sum
from minitorch_dist.tensors.determinism import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    get_float32_matmul_precision as get_float32_matmul_precision,
    set_float32_matmul_precision as set_float32_matmul_precision,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from minitorch_dist.tensors.devices import AcceleratorError as AcceleratorError, device as device
from minitorch_dist.tensors.dtypes import (
    bfloat16 as bfloat16,
    bool_ as bool,
    complex64 as cfloat,
    complex64 as complex64,
    complex128 as cdouble,
    complex128 as complex128,
    dtype as dtype,
    float16 as float16,
    float16 as half,
    float32 as float,
    float32 as float32,
    float64 as double,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    int8 as int8,
    int16 as int16,
    int16 as short,
    int32 as int,
    int32 as int32,
    int64 as int64,
    int64 as long,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    uint8 as uint8,
)
from minitorch_dist.tensors.generator import (
    Generator as Generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)
from minitorch_dist.tensors.ledger import OutOfMemoryError as OutOfMemoryError
from minitorch_dist.tensors.limits import finfo as finfo, iinfo as iinfo
from minitorch_dist.tensors.makers.creation import (
    as_tensor as as_tensor,
    empty as empty,
    empty_like as empty_like,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from minitorch_dist.tensors.makers.random import (
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
)
from minitorch_dist.tensors.makers.ranges import arange as arange, eye as eye, linspace as linspace
from minitorch_dist.tensors.ops.along_axes.extrema import (
    amax as amax,
    amin as amin,
    argmax as argmax,
    argmin as argmin,
    max as max,
    min as min,
)
from minitorch_dist.tensors.ops.along_axes.norms import norm as norm
from minitorch_dist.tensors.ops.along_axes.ordering import argsort as argsort, sort as sort, topk as topk
from minitorch_dist.tensors.ops.along_axes.reductions import (
    all as all,
    any as any,
    count_nonzero as count_nonzero,
    mean as mean,
    prod as prod,
)
from minitorch_dist.tensors.ops.along_axes.scans import cumsum as cumsum
from minitorch_dist.tensors.ops.along_axes.variance import std as std, var as var
from minitorch_dist.tensors.ops.complex_numbers import (
    polar as polar,
    view_as_complex as view_as_complex,
    view_as_real as view_as_real,
)
from minitorch_dist.tensors.ops.elementwise.arithmetic import (
    neg as neg,
    neg_ as neg_,
    positive as positive,
    rsub as rsub,
    sub as sub,
)
from minitorch_dist.tensors.ops.elementwise.comparison import (
    allclose as allclose,
    eq as eq,
    equal as equal,
    ge as ge,
    gt as gt,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    le as le,
    lt as lt,
    ne as ne,
    where as where,
)
from minitorch_dist.tensors.ops.elementwise.conversion import is_tensor as is_tensor
from minitorch_dist.tensors.ops.elementwise.copying import clone as clone, detach as detach, detach_ as detach_
from minitorch_dist.tensors.ops.elementwise.division import (
    div as div,
    floor_divide as floor_divide,
    remainder as remainder,
)
from minitorch_dist.tensors.ops.elementwise.extremes import (
    clamp as clamp,
    clamp_ as clamp_,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    maximum as maximum,
    minimum as minimum,
)
from minitorch_dist.tensors.ops.elementwise.filling import fill_ as fill_, zero_ as zero_
from minitorch_dist.tensors.ops.elementwise.logic import (
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
)
from minitorch_dist.tensors.ops.elementwise.mixtures import addcdiv as addcdiv, addcmul as addcmul
from minitorch_dist.tensors.ops.elementwise.powers import (
    pow as pow,
    reciprocal as reciprocal,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from minitorch_dist.tensors.ops.elementwise.rounding import (
    abs as abs,
    ceil as ceil,
    floor as floor,
    round as round,
    sign as sign,
)
from minitorch_dist.tensors.ops.elementwise.smooth import (
    cos as cos,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    sigmoid as sigmoid,
    sin as sin,
    tanh as tanh,
)
from minitorch_dist.tensors.ops.gradients import is_inference as is_inference
from minitorch_dist.tensors.ops.images.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv_transpose2d as conv_transpose2d,
)
from minitorch_dist.tensors.ops.images.pixels import pixel_shuffle as pixel_shuffle
from minitorch_dist.tensors.ops.images.pooling import max_pool2d as max_pool2d
from minitorch_dist.tensors.ops.indexing.gathering import (
    gather as gather,
    scatter as scatter,
    scatter_add as scatter_add,
)
from minitorch_dist.tensors.ops.indexing.masking import masked_fill as masked_fill
from minitorch_dist.tensors.ops.indexing.selecting import index_add as index_add, index_select as index_select
from minitorch_dist.tensors.ops.layers.dropout import dropout as dropout
from minitorch_dist.tensors.ops.layers.layer_norm import layer_norm as layer_norm, rms_norm as rms_norm
from minitorch_dist.tensors.ops.layers.normalization import group_norm as group_norm
from minitorch_dist.tensors.ops.layers.rectifiers import relu as relu, relu_ as relu_
from minitorch_dist.tensors.ops.layers.softmaxes import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)
from minitorch_dist.tensors.ops.linear_algebra.contraction import einsum as einsum
from minitorch_dist.tensors.ops.linear_algebra.products import (
    bmm as bmm,
    dot as dot,
    matmul as matmul,
    mm as mm,
    outer as outer,
)
from minitorch_dist.tensors.ops.making.draws import multinomial as multinomial
from minitorch_dist.tensors.ops.making.legacy import (
    BFloat16Tensor as BFloat16Tensor,
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
)
from minitorch_dist.tensors.ops.shapes.axes import permute as permute, t as t, transpose as transpose
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_shapes as broadcast_shapes
from minitorch_dist.tensors.ops.shapes.joining import cat as cat, concat as concat, stack as stack, vstack as vstack
from minitorch_dist.tensors.ops.shapes.pieces import (
    chunk as chunk,
    narrow as narrow,
    select as select,
    split as split,
    split_with_sizes as split_with_sizes,
    tensor_split as tensor_split,
    unbind as unbind,
)
from minitorch_dist.tensors.ops.shapes.rearranging import (
    flip as flip,
    repeat_interleave as repeat_interleave,
    roll as roll,
    tril as tril,
    triu as triu,
)
from minitorch_dist.tensors.ops.shapes.reshaping import (
    flatten as flatten,
    ravel as ravel,
    reshape as reshape,
    squeeze as squeeze,
    unflatten as unflatten,
    unsqueeze as unsqueeze,
)
from minitorch_dist.tensors.ops.shapes.strides import (
    channels_last as channels_last,
    contiguous_format as contiguous_format,
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_signed as is_signed,
    layout as layout,
    memory_format as memory_format,
    numel as numel,
    preserve_format as preserve_format,
    strided as strided,
)
from minitorch_dist.tensors.ops.statistics.counting import (
    argwhere as argwhere,
    nonzero as nonzero,
    searchsorted as searchsorted,
    unique as unique,
)
from minitorch_dist.tensors.ops.statistics.similarity import cosine_similarity as cosine_similarity
from minitorch_dist.tensors.printing import set_printoptions as set_printoptions
from minitorch_dist.tensors.promotion import result_type as result_type
from minitorch_dist.tensors.size import Size as Size
from minitorch_dist.tensors.tensor import Tensor as Tensor
from minitorch_dist.tensors.threads import get_num_threads as get_num_threads, set_num_threads as set_num_threads

importlib.import_module("minitorch_dist.tensors.malloc_tuning").keep()
__path__.append(f"{__path__[0]}/small")  # `minitorch_dist.random` stands in this folder (see there)


newaxis = None  # torch has numpy's name for a new axis in an index

if TYPE_CHECKING:
    from minitorch_dist import (
        amp as amp,
        datasets as datasets,
        distributed as distributed,
        futures as futures,
        models as models,
        multiprocessing as multiprocessing,
        nn as nn,
        optim as optim,
        profiler as profiler,
        testing as testing,
        utils as utils,
    )
    from minitorch_dist.amp.autocast_mode import (
        autocast as autocast,
        get_autocast_dtype as get_autocast_dtype,
        is_autocast_enabled as is_autocast_enabled,
    )
    from minitorch_dist.launching import launch as launch
    from minitorch_dist.serialization import SerializationError as SerializationError, load as load, save as save
    from minitorch_dist.small import (
        accelerator as accelerator,
        backends as backends,
        compiler as compiler,
        cpu as cpu,
        distributions as distributions,
        linalg as linalg,
        random as random,
        transforms as transforms,
        version as version,
    )

_ROOMS = {
    "accelerator",
    "amp",
    "backends",
    "compiler",
    "cpu",
    "datasets",
    "distributed",
    "distributions",
    "futures",
    "linalg",
    "models",
    "multiprocessing",
    "nn",
    "optim",
    "profiler",
    "random",
    "testing",
    "transforms",
    "utils",
    "version",
}
_FROM = {
    "SerializationError": "serialization",
    "autocast": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode",
    "is_autocast_enabled": "amp.autocast_mode",
    "launch": "launching",
    "load": "serialization",
    "save": "serialization",
}


def __getattr__(name: str) -> Any:
    """Import a package when it is first named."""
    if name in _ROOMS:
        return importlib.import_module(f"minitorch_dist.{name}")
    if name == "default_generator":  # each rank that is a thread has its own
        return importlib.import_module("minitorch_dist.random").default_generator
    if name in _FROM:
        value = getattr(importlib.import_module(f"minitorch_dist.{_FROM[name]}"), name)
        globals()[name] = value
        return value
    raise not_offered.no_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_FROM})
