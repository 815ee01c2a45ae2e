"""Schedules of the learning rate: PyTorch's `torch.optim.lr_scheduler`."""

from minitorch_dist.optim.lr_scheduler.combined import ChainedScheduler as ChainedScheduler
from minitorch_dist.optim.lr_scheduler.combined import SequentialLR as SequentialLR
from minitorch_dist.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from minitorch_dist.optim.lr_scheduler.cosine import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from minitorch_dist.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from minitorch_dist.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from minitorch_dist.optim.lr_scheduler.factors import ConstantLR as ConstantLR
from minitorch_dist.optim.lr_scheduler.factors import ExponentialLR as ExponentialLR
from minitorch_dist.optim.lr_scheduler.factors import LambdaLR as LambdaLR
from minitorch_dist.optim.lr_scheduler.factors import LinearLR as LinearLR
from minitorch_dist.optim.lr_scheduler.factors import MultiplicativeLR as MultiplicativeLR
from minitorch_dist.optim.lr_scheduler.factors import MultiStepLR as MultiStepLR
from minitorch_dist.optim.lr_scheduler.factors import PolynomialLR as PolynomialLR
from minitorch_dist.optim.lr_scheduler.factors import StepLR as StepLR
from minitorch_dist.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler as LRScheduler
from minitorch_dist.optim.lr_scheduler.schedule import _LRScheduler as _LRScheduler
