"""Schedules of the learning rate: PyTorch's `torch.optim.lr_scheduler`.

schedule      what all share
factors       a simple factor for each epoch: steps, exponentials, lines, lambdas
cosine        down along half a cosine
plateau       lower when a metric has stopped improving
"""

from minitorch_dist.inventory import not_offered
from minitorch_dist.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from minitorch_dist.optim.lr_scheduler.factors import (
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiStepLR as MultiStepLR,
    StepLR as StepLR,
)
from minitorch_dist.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler as LRScheduler, _LRScheduler as _LRScheduler

not_offered.guard(globals())
