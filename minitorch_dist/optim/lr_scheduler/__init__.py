"""Schedules of the learning rate: PyTorch's `torch.optim.lr_scheduler`.

schedule      what all share
factors       a simple factor for each epoch: steps, exponentials, lines, polynomials, lambdas
cosine        annealing, with and without restarts
cycles        stepped after every batch; the momentum moves against the rate
plateau       lower when a metric has stopped improving
combined      several on one optimizer
"""

from minitorch_dist.optim.lr_scheduler.combined import (
    ChainedScheduler as ChainedScheduler,
    SequentialLR as SequentialLR,
)
from minitorch_dist.optim.lr_scheduler.cosine import (
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from minitorch_dist.optim.lr_scheduler.cycles import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from minitorch_dist.optim.lr_scheduler.factors import (
    ConstantLR as ConstantLR,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from minitorch_dist.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from minitorch_dist.optim.lr_scheduler.schedule import (
    LRScheduler as LRScheduler,
    _LRScheduler as _LRScheduler,
)
