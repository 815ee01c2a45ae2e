"""Optimizers, and schedules of their learning rate: PyTorch's `torch.optim`.

optimizer       what all share: groups, state for each parameter, hooks around the step
elementwise     what a concrete step stands on: which arrays, and their memory
sgd  adagrad  adadelta  rmsprop  adam (AdamW)  adamax  nadam  radam      a formula in each
blocks          arrays cut into pieces that stay in the processor's cache
states          an optimizer's memory as plain data, and back
lr_scheduler/   the rate as a function of the epoch
"""

from minitorch_dist.optim import lr_scheduler as lr_scheduler
from minitorch_dist.optim.adadelta import Adadelta as Adadelta
from minitorch_dist.optim.adagrad import Adagrad as Adagrad
from minitorch_dist.optim.adam import Adam as Adam, AdamW as AdamW
from minitorch_dist.optim.adamax import Adamax as Adamax
from minitorch_dist.optim.nadam import NAdam as NAdam
from minitorch_dist.optim.optimizer import Optimizer as Optimizer
from minitorch_dist.optim.radam import RAdam as RAdam
from minitorch_dist.optim.rmsprop import RMSprop as RMSprop
from minitorch_dist.optim.sgd import SGD as SGD
