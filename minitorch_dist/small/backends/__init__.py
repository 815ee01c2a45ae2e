"""`torch.backends`: switches of libraries that are not here. They may be set, so that programs run, and change nothing."""

from minitorch_dist.inventory import not_offered

from . import cuda as cuda, cudnn as cudnn, mps as mps

not_offered.guard(globals())
