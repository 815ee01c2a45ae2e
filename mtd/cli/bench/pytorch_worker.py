"""One rank of a world that `mtd bench pytorch` times: PyTorch itself, over gloo or over one of our wires.

A command is `row repeats`. The answer is the seconds of one call among so many. `processor 0` asks how many seconds of
processor time such a call took, in all threads of this rank.
"""

from __future__ import annotations

import os
import sys
import warnings

from mtd.cli.bench import pytorch_rows
from mtd.cli.bench.comm_worlds import PEER
from mtd.cli.bench.turns import answer_commands

PROGRAM = True  # a user's program, to the library that is timed


def serve(name: str, address: str, rank: int, world: int) -> None:
    """Join the world and do what is asked until the input ends."""
    import torch as t
    import torch.distributed as dist

    warnings.simplefilter("ignore")
    t.set_num_threads(1)  # else the products of all ranks would want all cores
    os.environ["MTD_TRANSPORT"] = f"{name}://"
    backend = PEER if name == PEER else "mtd"
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=world)
    answer_commands(lambda row: pytorch_rows.ready(t, dist, row).act, dist.barrier)
    dist.destroy_process_group()


if __name__ == "__main__":
    serve(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
