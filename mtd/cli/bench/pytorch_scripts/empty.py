"""A script that only starts PyTorch."""

import torch
import torch.distributed

torch.set_num_threads(1)
