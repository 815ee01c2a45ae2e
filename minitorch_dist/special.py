"""torch.special: functions that mathematics has names for."""

from minitorch_dist.tensors.extras.elementwise.bessel import (
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
)
from minitorch_dist.tensors.extras.elementwise.error_function import (
    erfc as erfc,
    erfcx as erfcx,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
)
from minitorch_dist.tensors.extras.elementwise.exponentials import (
    entr as entr,
    exp2 as exp2,
    logit as logit,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from minitorch_dist.tensors.extras.elementwise.gamma import (
    digamma as digamma,
    mvlgamma as _mvlgamma,
)
from minitorch_dist.tensors.extras.elementwise.trigonometry import sinc as sinc
from minitorch_dist.tensors.extras.outputs import offer as _offer_out
from minitorch_dist.tensors.ops.elementwise.error_function import erf as erf, erfinv as erfinv
from minitorch_dist.tensors.ops.elementwise.exponentials import expm1 as expm1, log1p as log1p
from minitorch_dist.tensors.ops.elementwise.rounding import round as round
from minitorch_dist.tensors.ops.layers.softmaxes import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)

multigammaln = _mvlgamma
_offer_out(globals(), "special.")
