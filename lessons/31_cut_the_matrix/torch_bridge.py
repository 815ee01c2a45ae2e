"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

A plan says for each layer how it is cut: `ColwiseParallel` enters, `RowwiseParallel` leaves. Parameters become DTensors.

Leads to: Large Scale Transformer model training with Tensor Parallel (TP), https://pytorch.org/tutorials/intermediate/TP_tutorial.html
Here: programs/llama_4d.py
"""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import parallel

mesh = init_device_mesh("cpu", (3,))
first, second = torch.nn.Linear(2, 6), torch.nn.Linear(6, 2)
model = torch.nn.Sequential(first, torch.nn.ReLU(), second)
for number, p in enumerate(model.parameters()):
    torch.nn.init.constant_(p, number + 1.0)
plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
parallel.parallelize_module(model, mesh, plan)
x = torch.ones(1, 2, requires_grad=True)
y = model(x)
y.sum().backward()
print(y.tolist(), x.grad.tolist(), first.weight.to_local().shape)
dist.destroy_process_group()
