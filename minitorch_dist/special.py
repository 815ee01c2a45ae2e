"""torch.special: functions that mathematics has names for."""

from minitorch_dist.tensors.ops.error_function import erf as erf
from minitorch_dist.tensors.ops.error_function import erfc as erfc
from minitorch_dist.tensors.ops.error_function import erfcx as erfcx
from minitorch_dist.tensors.ops.error_function import erfinv as erfinv
from minitorch_dist.tensors.ops.error_function import log_ndtr as log_ndtr
from minitorch_dist.tensors.ops.error_function import ndtr as ndtr
from minitorch_dist.tensors.ops.error_function import ndtri as ndtri
from minitorch_dist.tensors.ops.exponentials import entr as entr
from minitorch_dist.tensors.ops.exponentials import exp2 as exp2
from minitorch_dist.tensors.ops.exponentials import expm1 as expm1
from minitorch_dist.tensors.ops.exponentials import log1p as log1p
from minitorch_dist.tensors.ops.exponentials import logit as logit
from minitorch_dist.tensors.ops.exponentials import xlog1py as xlog1py
from minitorch_dist.tensors.ops.exponentials import xlogy as xlogy
from minitorch_dist.tensors.ops.gamma import digamma as digamma
from minitorch_dist.tensors.ops.rounding import round as round
from minitorch_dist.tensors.ops.softmaxes import log_softmax as log_softmax
from minitorch_dist.tensors.ops.softmaxes import logsumexp as logsumexp
from minitorch_dist.tensors.ops.softmaxes import softmax as softmax
from minitorch_dist.tensors.ops.trigonometry import sinc as sinc
