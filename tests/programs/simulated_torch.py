"""A script, not a test: real torch's programs on simulated ranks, for what `under_torch` runs in processes.

python simulated_torch.py FOLDER '[["ddp_basic", "--world_size 3"], …]'
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from minitorch_dist import sim


def simulated(name: str, flags: str) -> list[Any]:
    program = importlib.import_module(name)
    options = program.parser().parse_args(flags.split())

    def live() -> Any:
        import torch.distributed as dist

        result = program.run(int(os.environ["RANK"]), options.world_size, options)
        if dist.is_initialized():
            dist.destroy_process_group()
        return result

    return list(sim.run(live, options.world_size).results)


def main(folder: Path, wanted: list[tuple[str, str]]) -> None:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(folder))
    results = {name: simulated(name, flags) for name, flags in wanted}
    (folder / "simulated.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
