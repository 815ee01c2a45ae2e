"""One worker that does what it is told, line by line, in torch or here.

python -m tests.parity.joining_program library port
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

library, port = (sys.argv[1:3] + ["minitorch_dist", "0"])[:2]
rpc: Any = importlib.import_module(f"{library}.distributed.rpc")


def add(a: int, b: int) -> int:
    return a + b


def join(name: str, rank: int) -> None:
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"tcp://127.0.0.1:{port}",
        rpc_timeout=60,
        **({"_transports": ["uv"]} if library == "torch" else {}),
    )
    rpc.init_rpc(name, rank=rank, rpc_backend_options=options)


def infos() -> list[tuple[str, int]]:
    found = (
        rpc.api._get_current_rpc_agent().get_worker_infos()
        if library == "torch"
        else rpc._get_worker_infos()
    )
    return sorted((info.name, info.id) for info in found)


def main() -> None:
    for line in sys.stdin:
        try:
            said = repr(eval(line))
        except Exception as error:
            said = "raised " + next(
                kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"
            )
        print(said, flush=True)
    os._exit(0)  # torch's agents that were left behind would abort


if __name__ == "__main__":
    sys.modules["tests.parity.joining_program"] = sys.modules["__main__"]
    main()
