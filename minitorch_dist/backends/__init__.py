"""`torch.backends`: switches of libraries that are not here, accepted so that programs run."""

from minitorch_dist.backends import cuda as cuda
from minitorch_dist.backends import cudnn as cudnn
from minitorch_dist.backends import mps as mps
