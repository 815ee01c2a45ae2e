"""Optimizers, and schedules of their learning rate: PyTorch's `torch.optim`.

optimizer       what all share: groups, state for each parameter, hooks around the step
elementwise     what a concrete step stands on: which arrays, their memory, and pieces for the cache
sgd  adagrad  adadelta  rmsprop  adam (AdamW)  adamax  nadam  radam  rprop  asgd      a formula in each
lbfgs  line_search      steps from the curvature that was seen; how far to go
states          an optimizer's memory as plain data, and back
swa_utils       averages of a model over its training
lr_scheduler/   the rate as a function of the epoch
"""

from minitorch_dist.optim import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from minitorch_dist.optim.adadelta import Adadelta as Adadelta
from minitorch_dist.optim.adagrad import Adagrad as Adagrad
from minitorch_dist.optim.adam import Adam as Adam, AdamW as AdamW
from minitorch_dist.optim.adamax import Adamax as Adamax
from minitorch_dist.optim.asgd import ASGD as ASGD
from minitorch_dist.optim.lbfgs import LBFGS as LBFGS
from minitorch_dist.optim.nadam import NAdam as NAdam
from minitorch_dist.optim.optimizer import Optimizer as Optimizer
from minitorch_dist.optim.radam import RAdam as RAdam
from minitorch_dist.optim.rmsprop import RMSprop as RMSprop
from minitorch_dist.optim.rprop import Rprop as Rprop
from minitorch_dist.optim.sgd import SGD as SGD
