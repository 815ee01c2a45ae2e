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
import socket
import sys
import warnings
from pathlib import Path
from typing import Any


def rank_of(folder: Path, name: str, rank: int, options: Any) -> None:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    faulthandler.dump_traceback_later(25)
    # In forks of a process with torch in it, gloo hangs now and then when it tidies up.
    torch.distributed.destroy_process_group = torch.distributed.barrier
    result = importlib.import_module(name).run(rank, options.world_size, options)
    (folder / f"{name}.{rank}.json").write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)


def main(folder: Path, wanted: list[tuple[str, str]]) -> None:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(folder))
    results = {}
    for name, flags in wanted:
        options = importlib.import_module(name).parser().parse_args(flags.split())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(probe.getsockname()[1]))
        fork = multiprocessing.get_context("fork")
        ranks = range(options.world_size)
        processes = [fork.Process(target=rank_of, args=(folder, name, r, options)) for r in ranks]
        for process in processes:
            process.start()
        for process in processes:
            process.join(30)
        codes = [process.exitcode for process in processes]
        for process in processes:
            process.kill()
        assert codes == [0] * len(processes), f"{name}: its ranks ended with {codes}"
        results[name] = [json.loads((folder / f"{name}.{rank}.json").read_text()) for rank in ranks]
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
