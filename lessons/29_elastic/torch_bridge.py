"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torchrun starts all workers again when one fails, up to --max-restarts times. So the script saves, and begins
with what it finds: torchrun --standalone --nproc-per-node 3 --max-restarts 2 torch_bridge.py

Leads to: Fault-tolerant Distributed Training with torchrun, https://pytorch.org/tutorials/beginner/ddp_series_fault_tolerance.html
Here: programs/ddp_elastic.py
"""

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
port = os.environ["MASTER_PORT"]
path = Path(tempfile.gettempdir()) / f"checkpoint-{port}.pt"
for life in range(2):  # torchrun's two lives of a job, in one process
    done = torch.load(path) if path.exists() else {"step": torch.tensor(0)}
    dist.barrier()
    for step in range(int(done["step"]), 3 * (life + 1)):
        total = torch.tensor([float(step + rank)])
        dist.all_reduce(total)
        if rank == 0:
            torch.save({"step": torch.tensor(step + 1)}, path)
        dist.barrier()
        print("life", life, "step", step, total.item())
dist.destroy_process_group()
