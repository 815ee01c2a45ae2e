"""The methods of a tensor that the house itself does not use: `Tensor` has them all the same."""

from __future__ import annotations

from minitorch_dist.tensors.extras import counting, elementwise, products, rearranging
from minitorch_dist.tensors.state import TensorState


class ExtraMethods(TensorState):
    # elementwise
    exp2 = elementwise.exp2
    log2 = elementwise.log2
    log10 = elementwise.log10
    tan = elementwise.tan
    logical_and = elementwise.logical_and
    logical_or = elementwise.logical_or
    logical_not = elementwise.logical_not
    isinf = elementwise.isinf
    less = elementwise.less
    not_equal = elementwise.not_equal

    # in place
    exp_ = elementwise.exp_
    log_ = elementwise.log_
    sigmoid_ = elementwise.sigmoid_
    tanh_ = elementwise.tanh_
    sqrt_ = elementwise.sqrt_
    abs_ = elementwise.abs_
    sign_ = elementwise.sign_

    # products, rearranging, counting
    addmm = products.addmm
    addmm_ = products.addmm_
    baddbmm = products.baddbmm
    baddbmm_ = products.baddbmm_
    tril = rearranging.tril
    tril_ = rearranging.tril_
    triu = rearranging.triu
    triu_ = rearranging.triu_
    diag = rearranging.diag
    tile = rearranging.tile
    repeat_interleave = rearranging.repeat_interleave
    unique = counting.unique
    bincount = counting.bincount
