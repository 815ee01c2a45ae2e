"""Nonlinearities as layers. Each one is its function in `nn.functional` with settings kept."""

from __future__ import annotations

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.applied import Applied

# ---------------------------------------------------------------------------------------- rectifiers


class _Inplace(Applied):
    """Settings: only whether to overwrite the input."""

    options = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_Inplace):
    """max(x, 0)

    Args:
        inplace: Write the result into the input.

    Example:
        >>> nn.ReLU()(torch.tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    function = staticmethod(F.relu)


class LeakyReLU(Applied):
    """x above zero, negative_slope · x below."""

    function, options = staticmethod(F.leaky_relu), ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace


# ------------------------------------------------------------------------------------- smooth steps


class Sigmoid(Applied):
    function = staticmethod(F.sigmoid)


class Tanh(Applied):
    function = staticmethod(F.tanh)


class LogSigmoid(Applied):
    function = staticmethod(F.logsigmoid)


# --------------------------------------------------------------------------------- smooth rectifiers


class SiLU(_Inplace):
    """x · sigmoid(x)"""

    function = staticmethod(F.silu)


class ELU(Applied):
    """x above zero, alpha · (eˣ - 1) below."""

    function, options = staticmethod(F.elu), ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


class GELU(Applied):
    """x · Φ(x), with the normal distribution function or its tanh approximation."""

    function, options = staticmethod(F.gelu), ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate


class Softplus(Applied):
    """log(1 + e^(beta · x)) / beta, and x itself where beta · x exceeds the threshold."""

    function, options = staticmethod(F.softplus), ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


# ------------------------------------------------------------------------------------- distributions


class _OverDim(Applied):
    """Settings: the dimension along which the results sum to one."""

    options = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_OverDim):
    function = staticmethod(F.softmax)


class LogSoftmax(_OverDim):
    function = staticmethod(F.log_softmax)
