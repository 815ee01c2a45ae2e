"""A script, not a test: run programs whose imports were changed to torch, and print what their ranks returned.

    python under_torch.py FOLDER '[["ddp_basic", "--world_size 3"], …]'

torch is imported once; the ranks are forks of this process.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import multiprocessing
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.ports import free_port


def rank_of(folder: Path, name: str, rank: int, options: Any, others_left: Any) -> None:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    faulthandler.dump_traceback_later(25)
    # In forks of a process with torch in it, gloo hangs now and then when it tidies up.
    torch.distributed.destroy_process_group = torch.distributed.barrier
    # Whoever still asks the store in rpc.shutdown fails if it goes with rank 0, which has all it wanted.
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    made, stores = rendezvous._create_c10d_store, []
    rendezvous._create_c10d_store = lambda *a, **k: stores.append(made(*a, **k)) or stores[-1]
    result = importlib.import_module(name).run(rank, options.world_size, options)
    (folder / f"{name}.{rank}.json").write_text(json.dumps(result))
    sys.stdout.flush()
    if rank == 0:
        others_left.wait(25)
    os._exit(0)


def played(folder: Path, name: str, options: Any) -> list[int | None]:
    """The exit codes of the ranks."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    fork = multiprocessing.get_context("fork")
    left = fork.Event()
    ranks = [
        fork.Process(target=rank_of, args=(folder, name, rank, options, left)) for rank in range(options.world_size)
    ]
    for process in ranks:
        process.start()
    for process in ranks[1:]:
        process.join(300)
    left.set()
    ranks[0].join(300)
    codes = [process.exitcode for process in ranks]
    for process in ranks:
        process.kill()
    return codes


def main(folder: Path, wanted: list[tuple[str, str]]) -> None:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(folder))
    results = {}
    for name, flags in wanted:
        options = importlib.import_module(name).parser().parse_args(flags.split())
        ranks = range(options.world_size)
        for _ in range(3):  # torch's own runtime falls over now and then: tests/parity/oracle.py
            codes = played(folder, name, options)
            if codes == [0] * len(codes):
                break
        assert codes == [0] * len(codes), f"{name}: its ranks ended with {codes}"
        results[name] = [json.loads((folder / f"{name}.{rank}.json").read_text()) for rank in ranks]
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
