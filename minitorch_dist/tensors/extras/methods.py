"""The methods of a tensor that the house itself does not use: `Tensor` has them all the same."""

from __future__ import annotations

from minitorch_dist.tensors.extras import complex_numbers, sparse, spectrograms
from minitorch_dist.tensors.extras.along_axes import renormalizing, scans
from minitorch_dist.tensors.extras.elementwise import (
    bessel,
    comparison,
    error_function,
    exponentials,
    gamma,
    logic,
    powers,
    rounding,
    trigonometry,
)
from minitorch_dist.tensors.extras.indexing import replacing, scatter_reduction
from minitorch_dist.tensors.extras.linear_algebra import (
    added_products,
    elimination,
    matrices,
    solving,
)
from minitorch_dist.tensors.extras.shapes import layout, pieces, rearranging, striding
from minitorch_dist.tensors.extras.statistics import counting, covariance
from minitorch_dist.tensors.state import TensorState


class ExtraMethods(TensorState):
    # sparse
    to_sparse = to_sparse_coo = sparse.to_sparse
    to_sparse_csr = to_sparse_csc = to_sparse_bsr = to_sparse_bsc = sparse.no_other_layout
    to_dense = sparse.to_dense
    coalesce = sparse.coalesce
    is_coalesced = sparse.is_coalesced
    indices = sparse.indices
    values = sparse.values
    _indices = sparse._indices
    _values = sparse._values
    _nnz = sparse.nnz
    sparse_dim = sparse.sparse_dim
    dense_dim = sparse.dense_dim

    # gamma
    lgamma = gamma.lgamma
    lgamma_ = gamma.lgamma_
    digamma = gamma.digamma
    digamma_ = gamma.digamma_
    mvlgamma = gamma.mvlgamma
    mvlgamma_ = gamma.mvlgamma_

    # bessel, renormalizing, spectrograms, elimination
    i0 = bessel.i0
    i0_ = bessel.i0_
    renorm = renormalizing.renorm
    renorm_ = renormalizing.renorm_
    stft = spectrograms.stft
    istft = spectrograms.istft
    lu = elimination.lu
    lu_solve = elimination.lu_solve

    # covariance
    cov = covariance.cov
    corrcoef = covariance.corrcoef

    # scatter reduction
    scatter_reduce = scatter_reduction.scatter_reduce
    scatter_reduce_ = scatter_reduction.scatter_reduce_
    index_reduce = scatter_reduction.index_reduce
    index_reduce_ = scatter_reduction.index_reduce_

    # replacing
    select_scatter = replacing.select_scatter
    slice_scatter = replacing.slice_scatter
    diagonal_scatter = replacing.diagonal_scatter
    fill_diagonal_ = replacing.fill_diagonal_

    # added products
    addmm = added_products.addmm
    addmm_ = added_products.addmm_
    addmv = added_products.addmv
    addmv_ = added_products.addmv_
    addr = added_products.addr
    addr_ = added_products.addr_
    addbmm = added_products.addbmm
    addbmm_ = added_products.addbmm_
    baddbmm = added_products.baddbmm
    baddbmm_ = added_products.baddbmm_

    # powers
    float_power = powers.float_power
    float_power_ = powers.float_power_
    square_ = powers.square_
    sqrt_ = powers.sqrt_
    rsqrt_ = powers.rsqrt_
    reciprocal_ = powers.reciprocal_

    # exponentials
    exp_ = exponentials.exp_
    exp2 = exponentials.exp2
    exp2_ = exponentials.exp2_
    expm1_ = exponentials.expm1_
    log_ = exponentials.log_
    log2 = exponentials.log2
    log2_ = exponentials.log2_
    log10 = exponentials.log10
    log10_ = exponentials.log10_
    log1p_ = exponentials.log1p_
    sigmoid_ = exponentials.sigmoid_
    xlogy = exponentials.xlogy
    xlogy_ = exponentials.xlogy_
    logaddexp2 = exponentials.logaddexp2
    frexp = exponentials.frexp
    ldexp = exponentials.ldexp
    ldexp_ = exponentials.ldexp_
    logit = exponentials.logit
    logit_ = exponentials.logit_

    # trigonometry
    sin_ = trigonometry.sin_
    cos_ = trigonometry.cos_
    tan = trigonometry.tan
    tan_ = trigonometry.tan_
    asin_ = trigonometry.asin_
    acos_ = trigonometry.acos_
    atan_ = trigonometry.atan_
    atan2_ = trigonometry.atan2_
    sinh = trigonometry.sinh
    sinh_ = trigonometry.sinh_
    cosh = trigonometry.cosh
    cosh_ = trigonometry.cosh_
    tanh_ = trigonometry.tanh_
    asinh = trigonometry.asinh
    asinh_ = trigonometry.asinh_
    acosh = trigonometry.acosh
    acosh_ = trigonometry.acosh_
    atanh = trigonometry.atanh
    atanh_ = trigonometry.atanh_
    arcsin_ = trigonometry.arcsin_
    arccos_ = trigonometry.arccos_
    arctan_ = trigonometry.arctan_
    arctan2_ = trigonometry.arctan2_
    arcsinh = trigonometry.arcsinh
    arcsinh_ = trigonometry.arcsinh_
    arccosh = trigonometry.arccosh
    arccosh_ = trigonometry.arccosh_
    arctanh = trigonometry.arctanh
    arctanh_ = trigonometry.arctanh_
    hypot = trigonometry.hypot
    hypot_ = trigonometry.hypot_
    deg2rad = trigonometry.deg2rad
    deg2rad_ = trigonometry.deg2rad_
    rad2deg = trigonometry.rad2deg
    rad2deg_ = trigonometry.rad2deg_
    sinc = trigonometry.sinc
    sinc_ = trigonometry.sinc_

    # rounding
    abs_ = rounding.abs_
    absolute_ = rounding.absolute_
    floor_ = rounding.floor_
    ceil_ = rounding.ceil_
    trunc_ = rounding.trunc_
    fix = rounding.fix
    fix_ = rounding.fix_
    round_ = rounding.round_
    frac = rounding.frac
    frac_ = rounding.frac_
    sign_ = rounding.sign_
    sgn_ = rounding.sgn_
    signbit = rounding.signbit
    copysign = rounding.copysign
    copysign_ = rounding.copysign_
    nan_to_num = rounding.nan_to_num
    nan_to_num_ = rounding.nan_to_num_
    nextafter = rounding.nextafter
    nextafter_ = rounding.nextafter_

    # comparison
    eq_ = comparison.eq_
    ne_ = comparison.ne_
    lt_ = comparison.lt_
    le_ = comparison.le_
    gt_ = comparison.gt_
    ge_ = comparison.ge_
    greater = comparison.greater
    greater_ = comparison.greater_
    greater_equal = comparison.greater_equal
    greater_equal_ = comparison.greater_equal_
    less = comparison.less
    less_ = comparison.less_
    less_equal = comparison.less_equal
    less_equal_ = comparison.less_equal_
    not_equal = comparison.not_equal
    not_equal_ = comparison.not_equal_
    isinf = comparison.isinf
    isposinf = comparison.isposinf
    isneginf = comparison.isneginf
    heaviside = comparison.heaviside
    heaviside_ = comparison.heaviside_

    # complex numbers
    isreal = complex_numbers.isreal
    conj_physical = complex_numbers.conj_physical
    conj_physical_ = complex_numbers.conj_physical_
    resolve_conj = complex_numbers.resolve_conj
    resolve_neg = complex_numbers.resolve_neg
    is_conj = complex_numbers.is_conj
    is_neg = complex_numbers.is_neg

    # logic
    logical_and = logic.logical_and
    logical_and_ = logic.logical_and_
    logical_or = logic.logical_or
    logical_or_ = logic.logical_or_
    logical_xor = logic.logical_xor
    logical_xor_ = logic.logical_xor_
    logical_not = logic.logical_not
    logical_not_ = logic.logical_not_
    bitwise_not = logic.bitwise_not
    bitwise_not_ = logic.bitwise_not_
    gcd = logic.gcd
    gcd_ = logic.gcd_
    lcm = logic.lcm
    lcm_ = logic.lcm_

    # error function
    erf_ = error_function.erf_
    erfc = error_function.erfc
    erfc_ = error_function.erfc_
    erfinv_ = error_function.erfinv_

    # layout
    is_contiguous = layout.is_contiguous
    get_device = layout.get_device
    is_same_size = layout.is_same_size
    is_set_to = layout.is_set_to
    dim_order = layout.dim_order

    # pieces
    narrow_copy = pieces.narrow_copy
    hsplit = pieces.hsplit
    vsplit = pieces.vsplit
    dsplit = pieces.dsplit

    # striding
    as_strided_ = striding.as_strided_
    squeeze_ = striding.squeeze_
    unsqueeze_ = striding.unsqueeze_
    transpose_ = striding.transpose_
    swapaxes_ = striding.swapaxes_
    swapdims_ = striding.swapdims_
    t_ = striding.t_
    resize_as_ = striding.resize_as_
    set_ = striding.set_

    # rearranging
    fliplr = rearranging.fliplr
    flipud = rearranging.flipud
    rot90 = rearranging.rot90
    tril = rearranging.tril
    tril_ = rearranging.tril_
    triu = rearranging.triu
    triu_ = rearranging.triu_
    diag = rearranging.diag
    diagflat = rearranging.diagflat
    diag_embed = rearranging.diag_embed
    tile = rearranging.tile
    repeat_interleave = rearranging.repeat_interleave

    # counting
    unique = counting.unique
    unique_consecutive = counting.unique_consecutive
    bincount = counting.bincount
    histc = counting.histc
    histogram = counting.histogram

    # scans
    cummax = scans.cummax
    cummin = scans.cummin
    cumsum_ = scans.cumsum_
    cumprod_ = scans.cumprod_

    # matrices
    cross = matrices.cross
    matrix_exp = matrices.matrix_exp

    # solving
    logdet = solving.logdet
    matrix_power = solving.matrix_power
    cholesky_solve = solving.cholesky_solve
    cholesky_inverse = solving.cholesky_inverse
    triangular_solve = solving.triangular_solve
