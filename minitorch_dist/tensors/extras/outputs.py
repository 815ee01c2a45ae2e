"""`out=`: a function writes its result into a tensor that is there, and gives that back.

    torch.add(a, b, out=c)            c has the sum; an empty c takes the shape of the result
    torch.max(x, 0, out=(v, i))       two results, two tensors

The function computes as always, and the result is copied: operations need not know of it. `offer` puts a function
around each one of a face that torch gives an `out=`. Methods and the house's own calls do not pass through it. The
tables say for each name which element types its `out` may have:

    CASTS       each that can hold the result: floats take integers, integers take no floats
    EXACT       that of the result
    TYPED       the function computes in the type of `out`
    FACTORIES   so do these, on the device of `out`
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import same_device
from minitorch_dist.tensors.core.views import check_writable
from minitorch_dist.tensors.dtypes import can_cast, type_name
from minitorch_dist.tensors.ops.elementwise.copying import copy_
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.shapes.striding import resize_

CASTS = [
    "acos acosh add addcdiv addcmul addr angle arccos arccosh arcsin arcsinh arctan arctan2",
    "arctanh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or",
    "bitwise_right_shift bitwise_xor cat chain_matmul cholesky cholesky_inverse cholesky_solve",
    "clamp clamp_max clamp_min clip column_stack concat concatenate copysign cos cosh deg2rad",
    "diff digamma div divide dstack eq erf erfc erfinv exp exp2 expm1 floor_divide fmax fmin",
    "fmod gcd ge ger greater greater_equal gt hstack hypot kron lcm ldexp le less less_equal",
    "lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or",
    "logical_xor logit logsumexp lt matrix_power max maximum min minimum mul multiply ne",
    "nextafter normal not_equal outer pow rad2deg reciprocal remainder row_stack rsqrt sigmoid",
    "sin sinc sinh sqrt square stack std sub subtract tan tanh threshold true_divide var vstack",
    "xlogy linalg.cond linalg.lstsq linalg.matrix_power linalg.matrix_rank linalg.pinv fft.fft",
    "fft.fft2 fft.fftn fft.ifft fft.ifft2 fft.ifftn fft.irfft fft.irfft2 fft.irfftn fft.rfft",
    "fft.rfft2 fft.rfftn special.digamma special.entr special.erf special.erfc special.erfcx",
    "special.erfinv special.exp2 special.expm1 special.log1p special.log_ndtr special.logit",
    "special.logsumexp special.ndtr special.ndtri special.sinc special.xlog1py special.xlogy",
    "i0 mvlgamma special.i0 special.i0e special.i1 special.i1e special.multigammaln fft.hfft fft.hfft2",
    "fft.hfftn fft.ihfft fft.ihfft2 fft.ihfftn linalg.tensorinv linalg.tensorsolve",
]
EXACT = [
    "abs absolute addbmm addmm addmv all amax amin aminmax any argmax argmin argsort baddbmm",
    "bernoulli bitwise_not bmm bucketize ceil complex conj_physical cross cummax cummin diag",
    "diagonal_copy dot fix float_power floor frac gather hardshrink heaviside histc histogram",
    "index_add index_copy index_reduce index_select inner inverse isin isneginf isposinf",
    "kthvalue lerp log_softmax logcumsumexp masked_select matmul median mm mode msort",
    "multinomial mv nan_to_num nanmedian nanquantile narrow_copy neg negative nonzero norm",
    "polar qr quantile round scatter scatter_add scatter_reduce searchsorted sgn sign signbit",
    "slice_scatter slogdet softmax sort spmm svd take take_along_dim tensordot topk",
    "triangular_solve tril triu trunc vdot where linalg.cholesky linalg.cross linalg.det",
    "linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm linalg.multi_dot",
    "linalg.norm linalg.qr linalg.slogdet linalg.solve linalg.solve_triangular linalg.svd",
    "linalg.svdvals linalg.vecdot linalg.vector_norm special.round",
    "frexp lu_solve lu_unpack renorm linalg.cholesky_ex linalg.eig linalg.eigvals linalg.inv_ex linalg.lu",
    "linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.solve_ex",
]
TYPED = ["cumprod cumsum mean nanmean nansum prod sum"]
FACTORIES = [
    "arange empty eye full linspace logspace ones rand randint randn randperm range zeros",
    "fft.fftfreq fft.rfftfreq",
]
BY_COUNT = {"arange", "linspace", "logspace", "randperm", "range", "fftfreq", "rfftfreq"}
JOINING = {"cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack", "vstack"}  # fmt: skip
READ_WHILE_WRITTEN = {"cross", "gather", "take"}  # torch refuses them an input as their `out`

KINDS = {
    name: kind
    for kind, names in [("casts", CASTS), ("exact", EXACT), ("typed", TYPED), ("makes", FACTORIES)]
    for name in " ".join(names).split()
}


def offer(face: dict[str, Any], room: str = "") -> None:
    """Let the functions of a face take `out=`: those of `torch.linalg` for the room "linalg."."""
    for name, kind in KINDS.items():
        if name.startswith(room) and "." not in name.removeprefix(room):
            short = name.removeprefix(room)
            face[short] = _with_out(face[short], short, face["__name__"], kind)


def _with_out(function: Callable[..., Any], name: str, module: str, kind: str) -> Any:
    @functools.wraps(function)
    def taken(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is None:
            return function(*args, **options)
        outs = _tensors_of(out, name)
        with_types = _of_outs_type(outs[0], kind, options) if kind in ("typed", "makes") else {}
        found = function(*args, **{**options, **with_types})
        return _write_all(name, kind, out, outs, found, list(_among((*args, *options.values()))))

    taken.__module__, taken.__name__, taken.__qualname__ = module, name, name
    taken.takes_out = True  # type: ignore[attr-defined]
    return taken


def _tensors_of(out: Any, name: str) -> list[TensorBase]:
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    for each in outs:
        if not isinstance(each, TensorBase):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(each).__name__}")
    return outs


def _of_outs_type(out: Any, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """`out` decides these: the type of its elements, and where a new tensor is made."""
    asked = options.get("dtype")
    if asked is not None and as_dtype(asked) is not out.dtype:
        here, there = (
            type_name(np.empty(0, kind.numpy))[6:-6] for kind in (as_dtype(asked), out.dtype)
        )
        raise RuntimeError(f"dtype {here} does not match dtype of out parameter ({there})")
    place = options.get("device")
    if place is not None and str(place).partition(":")[0] != out.device.type:
        raise RuntimeError(
            f"device {place} does not match device of out parameter ({out.device.type})"
        )
    return {"dtype": out.dtype} | ({"device": out.device} if kind == "makes" else {})


def _among(values: Any) -> Iterator[TensorBase]:
    """The tensors among arguments, and in lists of them."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _among(value)


def _write_all(
    name: str,
    kind: str,
    out: Any,
    outs: list[TensorBase],
    found: Any,
    inputs: list[TensorBase],
) -> Any:
    several = isinstance(found, tuple)
    results = list(found) if several else [found]
    if len(outs) != len(results) or several != isinstance(out, (tuple, list)):
        wanted = f"a tuple of {len(results)} Tensors" if several else "one Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type(out).__name__}")
    recorded = grad_mode.current_mode() == grad_mode.ON
    if recorded and any(each.requires_grad for each in (*results, *outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    for target, result in zip(outs, results, strict=True):
        same_device(target, result)
        _check_type(name, "exact" if several else kind, result, target)
        _check_overlap(name, target, result.array.shape, inputs)
    for target, result in zip(outs, results, strict=True):
        _fit(name, target, result.array.shape)
        values: Any = result
        copy_(target, values.reshape(target.array.shape) if name in BY_COUNT else values)
    if not several:
        return out
    return type(found)(*outs) if hasattr(found, "_fields") else tuple(outs)


def _check_type(name: str, kind: str, result: TensorBase, out: TensorBase) -> None:
    """Raise torch's error if `out` has a type that the result does not go into."""
    if result.dtype is out.dtype or (kind != "exact" and can_cast(result.dtype, out.dtype)):
        return
    here, there = (type_name(each.array)[6:-6] for each in (result, out))
    if kind == "exact":
        raise RuntimeError(f"Expected out tensor to have dtype {here}, but got {there} instead")
    if name in JOINING:
        raise TypeError(
            f"torch.cat(): input types can't be cast to the desired output type {there}"
        )
    raise RuntimeError(f"result type {here} can't be cast to the desired output type {there}")


def _check_overlap(
    name: str, out: TensorBase, shape: tuple[int, ...], inputs: list[TensorBase]
) -> None:
    """Raise if elements of `out` are elements of an input of the same shape, at other places."""
    check_writable(out)
    mine = _extent(out.array)
    if out.array.shape != shape or mine is None:
        return
    for each in inputs:
        theirs = _extent(each.array)
        if theirs is None or (each.array.shape != shape and name not in READ_WHILE_WRITTEN):
            continue
        is_itself = theirs == mine and each.array.strides == out.array.strides
        if is_itself and name not in READ_WHILE_WRITTEN:
            continue
        if theirs[0] < mine[1] and mine[0] < theirs[1]:
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer "
                "to a single memory location. Please clone() the tensor before performing the operation."
            )


def _extent(x: Array) -> tuple[int, int] | None:
    """Where the elements lie in memory, if they leave no gaps there."""
    if not x.size or not x.flags.forc:
        return None
    begin = int(x.__array_interface__["data"][0])
    return begin, begin + x.nbytes


def _fit(name: str, out: Any, shape: tuple[int, ...]) -> None:
    """Give `out` the shape of the result. One that has elements, and so another shape, is told."""
    x = out.array
    count = 1
    for n in shape:
        count *= n
    if x.shape == shape or (name in BY_COUNT and x.size == count):
        return
    if x.size and name in ("arange", "fftfreq", "rfftfreq"):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(x.shape)} is {x.size} which does "
            f"not match the computed number of elements {count}. Note that this may occur as a result "
            f"of rounding error. The out tensor will be resized to a tensor of shape ({count},).",
            UserWarning,
            stacklevel=4,
        )
    elif x.size and KINDS.get(name) != "makes" and name not in ("multinomial", "narrow_copy"):
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(x.shape)}, which "
            f"does not match the required output shape {list(shape)}. This behavior is deprecated, and in "
            "a future PyTorch release outputs will not be resized unless they have zero elements. You can "
            "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    resize_(out, shape)
