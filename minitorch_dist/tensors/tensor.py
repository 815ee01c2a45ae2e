"""The tensor class: every operation of `ops`, listed as a method."""

from __future__ import annotations

from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.ops import (
    activations,
    arithmetic,
    axes,
    conversion,
    copying,
    creation,
    exchange,
    layout,
    pieces,
    random,
    random_fill,
    reductions,
    reshaping,
    scalars,
)


class Tensor(TensorBase):
    add = arithmetic.add
    add_ = arithmetic.add_
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    __add__ = __radd__ = arithmetic.add
    __mul__ = __rmul__ = arithmetic.mul
    __iadd__ = arithmetic.add_
    sum = reductions.sum
    relu = activations.relu
    relu_ = activations.relu_

    # layout
    shape = property(layout.shape)
    ndim = property(layout.ndim)
    dim = ndimension = layout.dim
    size = layout.size
    numel = nelement = layout.numel
    __len__ = layout.length
    stride = layout.stride
    is_contiguous = layout.is_contiguous
    element_size = layout.element_size
    itemsize = property(layout.element_size)
    nbytes = property(layout.nbytes)
    data_ptr = layout.data_ptr
    storage_offset = layout.storage_offset
    untyped_storage = layout.untyped_storage
    is_floating_point = layout.is_floating_point
    is_complex = layout.is_complex
    is_signed = layout.is_signed
    is_cpu = property(layout.is_cpu)
    is_cuda = property(layout.is_cuda)
    get_device = layout.get_device

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
    expand = reshaping.expand
    expand_as = reshaping.expand_as
    broadcast_to = reshaping.broadcast_to

    # axes
    transpose = axes.transpose
    swapaxes = axes.swapaxes
    swapdims = axes.swapdims
    t = axes.t
    permute = axes.permute
    movedim = axes.movedim
    moveaxis = axes.moveaxis
    adjoint = axes.adjoint
    T = property(axes.T_)
    mT = property(axes.mT)  # noqa: N815 - torch's name
    H = property(axes.H)
    mH = property(axes.mT)  # noqa: N815 - torch's name

    # pieces
    select = pieces.select
    narrow = pieces.narrow
    unbind = pieces.unbind
    split = pieces.split
    split_with_sizes = pieces.split_with_sizes
    chunk = pieces.chunk
    tensor_split = pieces.tensor_split
    hsplit = pieces.hsplit
    vsplit = pieces.vsplit
    dsplit = pieces.dsplit
    diagonal = pieces.diagonal
    unfold = pieces.unfold

    # copying, conversion, exchange
    clone = copying.clone
    contiguous = copying.contiguous
    detach = copying.detach
    detach_ = copying.detach_
    data = property(copying.get_data, copying.set_data)
    copy_ = copying.copy_
    to = conversion.to
    numpy = exchange.numpy
    __array__ = exchange.as_array

    # scalars
    item = scalars.item
    tolist = scalars.tolist
    __float__ = scalars.as_float
    __int__ = scalars.as_int
    __index__ = scalars.as_index
    __bool__ = scalars.truth
    __iter__ = scalars.iterate
    __contains__ = scalars.contains
    __hash__ = object.__hash__
    # creation and random
    new_tensor = creation.new_tensor
    new_zeros = creation.new_zeros
    new_ones = creation.new_ones
    new_empty = creation.new_empty
    new_full = creation.new_full
    bernoulli = random.bernoulli
    multinomial = random.multinomial
    uniform_ = random_fill.uniform_
    normal_ = random_fill.normal_
    random_ = random_fill.random_
    bernoulli_ = random_fill.bernoulli_
    exponential_ = random_fill.exponential_
    geometric_ = random_fill.geometric_
    log_normal_ = random_fill.log_normal_
    cauchy_ = random_fill.cauchy_


TensorBase.plain = Tensor
