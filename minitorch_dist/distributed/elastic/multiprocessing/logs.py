"""The folder of a job on this node, with a file for each worker's last error.

<log dir>/<run id>_xxxxxxxx/attempt_<generation>/<local rank>/error.json
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from transports import keeper

PREFIX: Final = "mtdrun_"  # of folders that go with their agents


@contextmanager
def log_folder(log_dir: str | None, run_id: str) -> Iterator[Path]:
    """The job's folder on this node. It goes when the agent does, unless it was asked for. Those of agents that were
    killed with their wardens are swept by the next one."""
    keeper.sweep_folders(tempfile.gettempdir(), PREFIX)
    if log_dir is not None:
        Path(log_dir).mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^\w.-]", "_", run_id)
        yield Path(tempfile.mkdtemp(prefix=f"{safe}_", dir=log_dir))
        return
    path, held = keeper.make_folder(tempfile.gettempdir(), PREFIX)
    try:
        yield path
    finally:
        keeper.remove_folder(path, held)
        held.close()
