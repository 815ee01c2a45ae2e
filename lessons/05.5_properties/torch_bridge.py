"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

A property of torch's all_reduce. All ranks have to draw the same numbers, so `derandomize` fixes them. Each rank
checks its own result: if only one of them stopped, the others would wait for it.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist
from hypothesis import given, settings, strategies as st

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
tried = []


@settings(derandomize=True, database=None, deadline=None, max_examples=20)
@given(st.lists(st.integers(-99, 99), max_size=5))
def property_of_all_reduce(numbers):
    tensor = torch.tensor(numbers, dtype=torch.int64) * (rank + 1)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [n * size * (size + 1) // 2 for n in numbers]
    tried.append(len(numbers))


property_of_all_reduce()
print(len(tried), max(tried))
dist.destroy_process_group()
