"""`torch.backends`: switches of libraries that are not here, accepted so that programs run."""

from minitorch_dist.backends import cuda as cuda, cudnn as cudnn, mha as mha, mps as mps
