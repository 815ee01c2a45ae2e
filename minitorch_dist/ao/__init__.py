"""torch.ao: only the names of its quantization, which say that it is not offered."""

from minitorch_dist.ao import quantization as quantization
