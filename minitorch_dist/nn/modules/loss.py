"""Losses as modules: the functions of `nn.functional`, with their options kept."""

from __future__ import annotations

from typing import ClassVar

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.applied import Applied
from minitorch_dist.tensors.tensor import Tensor


class _Loss(Applied):
    """The base of all losses: how the losses of all elements become one number."""

    options: ClassVar[tuple[str, ...]] = ("reduction",)

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def extra_repr(self) -> str:
        return ""


class _WeightedLoss(_Loss):
    """A loss with a weight per class (or per element), which moves with the module."""

    options: ClassVar[tuple[str, ...]] = ("weight", "reduction")
    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


# --------------------------------------------------------------------------------- element by element


class MSELoss(_Loss):
    """Mean of (input - target)².

    Args:
        reduction: "mean", "sum" or "none".

    Example:
        >>> nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.zeros(2)).item()
        5.0
    """

    function = staticmethod(F.mse_loss)


class L1Loss(_Loss):
    """Mean of |input - target|."""

    function = staticmethod(F.l1_loss)


class SmoothL1Loss(_Loss):
    """Squares below `beta`, distances above."""

    function, options = staticmethod(F.smooth_l1_loss), ("reduction", "beta")

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """Half squares below `delta`, delta times distances above."""

    function, options = staticmethod(F.huber_loss), ("reduction", "delta")

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities."""

    function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of logits, safe from overflow."""

    function = staticmethod(F.binary_cross_entropy_with_logits)
    options = ("weight", "reduction", "pos_weight")
    pos_weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss):
    """How far a distribution is from another, given its logarithm."""

    function, options = staticmethod(F.kl_div), ("reduction", "log_target")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target


# -------------------------------------------------------------------------------------- over classes


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of the right class, given log probabilities."""

    function, options = staticmethod(F.nll_loss), ("weight", "ignore_index", "reduction")

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index


class CrossEntropyLoss(_WeightedLoss):
    """Negative log likelihood of the right class, given logits.

    Args:
        weight: A factor for each class.
        ignore_index: A class that counts nothing.
        reduction: "mean", "sum" or "none".
        label_smoothing: The share of the probability that is spread over all classes.

    Example:
        >>> round(nn.CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([2])).item(), 4)  # log 4
        1.3863
    """

    function = staticmethod(F.cross_entropy)
    options = ("weight", "ignore_index", "reduction", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
