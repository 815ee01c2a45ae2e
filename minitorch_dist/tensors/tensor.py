"""The tensor class: every operation of `ops`, listed as a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import ledger_observer, printing
from minitorch_dist.tensors.autograd import passes as passes
from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import operations
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops import gradients, operators
from minitorch_dist.tensors.ops.along_axes import extrema, norms, ordering, reductions, scans, variance
from minitorch_dist.tensors.ops.elementwise import (
    arithmetic,
    comparison,
    conversion,
    copying,
    division,
    extremes,
    filling,
    logic,
    mixtures,
    powers,
    rounding,
    smooth,
    updating,
)
from minitorch_dist.tensors.ops.indexing import gathering, indexing, masking, selecting
from minitorch_dist.tensors.ops.layers import rectifiers, softmaxes
from minitorch_dist.tensors.ops.linear_algebra import products
from minitorch_dist.tensors.ops.making import draws, exchange, legacy, random_fill, siblings
from minitorch_dist.tensors.ops.shapes import (
    axes,
    broadcasting,
    duplication,
    pieces,
    rearranging,
    reshaping,
    scalars,
    strides,
)
from minitorch_dist.tensors.ops.statistics import counting
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.state import TensorState


class Tensor(TensorState):
    def __new__(cls, *args: Any, **options: Any) -> Self:
        return legacy.new(cls, *args, **options)

    if not TYPE_CHECKING:  # to mypy, a name that is not here is an error
        __getattr__ = not_offered.no_method

    # gradients
    grad: Tensor | None = TensorState.grad  # type: ignore[assignment]  # also of a Parameter
    backward = gradients.backward_from
    requires_grad_ = gradients.requires_grad_
    register_hook = gradients.register_hook
    register_post_accumulate_grad_hook = gradients.register_post_accumulate_grad_hook
    retain_grad = gradients.retain_grad

    @property
    def grad_fn(self) -> TorchNode | None:
        """The node that made this tensor; None for a leaf."""
        return gradients.grad_fn(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return gradients.is_leaf(self)

    # arithmetic
    add = operations.add
    add_ = updating.add_
    sub = arithmetic.sub
    sub_ = updating.sub_
    mul = operations.mul
    mul_ = updating.mul_
    neg = arithmetic.neg
    neg_ = arithmetic.neg_
    positive = arithmetic.positive

    # division
    div = division.div
    div_ = updating.div_
    floor_divide = division.floor_divide
    remainder = division.remainder

    # powers
    pow = powers.pow
    pow_ = powers.pow_
    square = powers.square
    sqrt = powers.sqrt
    rsqrt = powers.rsqrt
    reciprocal = powers.reciprocal

    # smooth functions
    exp = smooth.exp
    expm1 = smooth.expm1
    log = smooth.log
    exp2 = smooth.exp2
    log1p = smooth.log1p
    log2 = smooth.log2
    sigmoid = smooth.sigmoid
    sin = smooth.sin
    cos = smooth.cos
    tanh = smooth.tanh

    # rounding
    abs = rounding.abs
    floor = rounding.floor
    ceil = rounding.ceil
    round = rounding.round
    sign = rounding.sign

    # extremes
    maximum = extremes.maximum
    minimum = extremes.minimum
    clamp = extremes.clamp
    clamp_ = extremes.clamp_
    clamp_min = extremes.clamp_min
    clamp_max = extremes.clamp_max

    # filling
    fill_ = filling.fill_
    zero_ = filling.zero_

    # comparison
    eq = comparison.eq
    ne = comparison.ne
    lt = comparison.lt
    le = comparison.le
    gt = comparison.gt
    ge = comparison.ge
    isnan = comparison.isnan
    isfinite = comparison.isfinite
    isinf = comparison.isinf
    isclose = comparison.isclose
    allclose = comparison.allclose
    equal = comparison.equal
    where = comparison.choose

    # logic
    logical_and = logic.logical_and
    logical_or = logic.logical_or
    logical_not = logic.logical_not
    bitwise_and = logic.bitwise_and
    bitwise_or = logic.bitwise_or
    bitwise_xor = logic.bitwise_xor

    # activations
    relu = rectifiers.relu
    relu_ = rectifiers.relu_

    # reductions
    sum = operations.sum
    mean = reductions.mean
    all = reductions.all
    any = reductions.any
    count_nonzero = reductions.count_nonzero
    prod = reductions.prod

    # extrema
    max = extrema.max
    min = extrema.min
    amax = extrema.amax
    amin = extrema.amin
    argmax = extrema.argmax
    argmin = extrema.argmin

    # softmaxes
    softmax = softmaxes.softmax
    log_softmax = softmaxes.log_softmax
    logsumexp = softmaxes.logsumexp

    # variance
    var = variance.var
    std = variance.std

    # norms
    norm = norms.norm

    # mixtures
    addcmul = mixtures.addcmul
    addcmul_ = mixtures.addcmul_
    addcdiv = mixtures.addcdiv
    addcdiv_ = mixtures.addcdiv_

    # operators
    __array_priority__ = 1000  # numpy's scalars leave `scalar * tensor` to the tensor
    __add__ = operations.binary(operations.add)
    __radd__ = operations.reflected(operations.add)
    __sub__ = operations.binary(arithmetic.sub)
    __rsub__ = operations.reflected(arithmetic.rsub)
    __mul__ = operations.binary(operations.mul)
    __rmul__ = operations.reflected(operations.mul)
    __truediv__ = operations.binary(division.div)
    __rtruediv__ = operations.reflected(operators.divided_by)
    __floordiv__ = operations.binary(division.floor_divide)
    __rfloordiv__ = operations.reflected(operators.swap(division.floor_divide))
    __mod__ = operations.binary(division.remainder)
    __rmod__ = operations.reflected(operators.swap(division.remainder))
    __pow__ = operations.binary(powers.pow)
    __rpow__ = operations.reflected(operators.swap(powers.pow))
    __and__ = operations.binary(logic.bitwise_and)
    __rand__ = operations.reflected(logic.bitwise_and)
    __or__ = operations.binary(logic.bitwise_or)
    __ror__ = operations.reflected(logic.bitwise_or)
    __xor__ = operations.binary(logic.bitwise_xor)
    __rxor__ = operations.reflected(logic.bitwise_xor)
    if TYPE_CHECKING:  # an object's own would be bool

        def __eq__(self, other: Any) -> Self: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Self: ...  # type: ignore[override]

    else:
        __eq__ = operations.binary(comparison.eq)
        __ne__ = operations.binary(comparison.ne)
    __lt__ = operations.binary(comparison.lt)
    __le__ = operations.binary(comparison.le)
    __gt__ = operations.binary(comparison.gt)
    __ge__ = operations.binary(comparison.ge)
    __iadd__ = operations.binary(updating.add_)
    __isub__ = operations.binary(updating.sub_)
    __imul__ = operations.binary(updating.mul_)
    __itruediv__ = operations.binary(updating.div_)
    __ifloordiv__ = operations.binary(division.floor_divide_)
    __imod__ = operations.binary(division.remainder_)
    __ipow__ = operations.binary(powers.pow_)
    __iand__ = operations.binary(logic.bitwise_and_)
    __ior__ = operations.binary(logic.bitwise_or_)
    __ixor__ = operations.binary(logic.bitwise_xor_)
    __neg__ = arithmetic.neg
    __pos__ = arithmetic.positive
    __abs__ = rounding.abs
    __invert__ = operators.invert

    # layout
    shape: Size = property(strides.shape)  # type: ignore[assignment]
    ndim: int = property(strides.ndim)  # type: ignore[assignment]
    dim = strides.dim
    size = strides.size
    numel = nelement = strides.elements
    __len__ = strides.length
    stride = strides.stride
    element_size = strides.element_size
    itemsize = property(strides.element_size)
    nbytes = property(strides.nbytes)
    data_ptr = strides.data_ptr
    storage_offset = strides.storage_offset
    untyped_storage = strides.untyped_storage
    is_floating_point = strides.is_floating_point
    is_complex = strides.is_complex
    is_signed = strides.is_signed
    is_cpu = property(strides.is_cpu)
    is_sparse = is_quantized = is_mps = is_xpu = property(strides.never)
    is_cuda = property(strides.is_cuda)
    is_meta = property(strides.is_meta)

    # reshaping
    view = reshaping.view
    view_as = reshaping.view_as
    reshape = reshaping.reshape
    reshape_as = reshaping.reshape_as
    flatten = reshaping.flatten
    ravel = reshaping.ravel
    unflatten = reshaping.unflatten
    squeeze = reshaping.squeeze
    unsqueeze = reshaping.unsqueeze
    expand = broadcasting.expand
    expand_as = broadcasting.expand_as

    # axes
    transpose = axes.transpose
    t = axes.t
    permute = axes.permute
    T: Tensor = property(axes.T_)  # type: ignore[assignment]
    mT: Tensor = property(axes.mT)  # type: ignore[assignment] # noqa: N815 - torch's name

    # pieces
    select = pieces.select
    narrow = pieces.narrow
    unbind = pieces.unbind
    split = pieces.split_method
    split_with_sizes = pieces.split_with_sizes
    chunk = pieces.chunk
    tensor_split = pieces.tensor_split

    # copying, conversion, exchange
    clone = copying.clone
    contiguous = copying.contiguous
    detach = copying.detach
    detach_ = copying.detach_
    data: Tensor = property(copying.get_data, copying.set_data)  # type: ignore[assignment]
    copy_ = copying.copy_
    to = conversion.to
    type = conversion.type_
    type_as = conversion.type_as
    half = conversion.half
    bfloat16 = conversion.bfloat16
    float = conversion.float_
    double = conversion.double
    byte = conversion.byte
    char = conversion.char
    short = conversion.short
    int = conversion.int_
    long = conversion.long
    bool = conversion.bool_
    cuda = conversion.cuda
    cpu = conversion.cpu
    pin_memory = conversion.pin_memory
    is_pinned = conversion.is_pinned
    numpy = exchange.numpy
    __array__ = exchange.as_array
    __array_wrap__ = exchange.array_wrap
    __copy__ = duplication.shallow
    __deepcopy__ = duplication.deep
    __reduce_ex__ = duplication.reduce

    # indexing
    __getitem__ = indexing.getitem
    __setitem__ = indexing.setitem

    # rearranging
    roll = rearranging.roll
    flip = rearranging.flip
    repeat = rearranging.repeat
    repeat_interleave = rearranging.repeat_interleave
    tril = rearranging.tril
    triu = rearranging.triu

    # masking
    masked_fill = masking.masked_fill
    masked_fill_ = masking.masked_fill_

    # selecting
    index_select = selecting.index_select
    index_add = selecting.index_add
    index_add_ = selecting.index_add_

    # gathering
    gather = gathering.gather
    scatter = gathering.scatter
    scatter_ = gathering.scatter_
    scatter_add = gathering.scatter_add
    scatter_add_ = gathering.scatter_add_

    # printing
    __repr__ = printing.to_text
    __format__ = printing.to_format

    # scalars
    item = scalars.item
    tolist = scalars.tolist
    __float__ = scalars.as_float
    __int__ = scalars.as_int
    __index__ = scalars.as_index
    __bool__ = scalars.truth
    __reversed__ = rearranging.reverse
    __iter__ = scalars.iterate
    __contains__ = scalars.contains
    # creation and random
    new_tensor = siblings.new_tensor
    new_zeros = siblings.new_zeros
    new_ones = siblings.new_ones
    new_empty = siblings.new_empty
    new_full = siblings.new_full
    multinomial = draws.multinomial
    uniform_ = random_fill.uniform_
    normal_ = random_fill.normal_
    random_ = random_fill.random_
    __hash__ = TensorBase.__hash__  # a class with `__eq__` has to say so
    layout = property(strides.layout_of)  # last: it hides the module

    # products
    matmul = products.matmul
    __matmul__ = operations.binary(products.matmul)
    __rmatmul__ = operations.reflected(operators.swap(products.matmul))
    mm = products.mm
    bmm = products.bmm
    dot = products.dot
    outer = products.outer

    # ordering
    sort = ordering.sort
    argsort = ordering.argsort
    topk = ordering.topk

    # counting
    nonzero = counting.nonzero
    argwhere = counting.argwhere
    unique = counting.unique

    # scans
    cumsum = scans.cumsum


TensorBase.plain = Tensor
ledger_observer.attach()
