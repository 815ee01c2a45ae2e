"""The folder of a job on this node, with a file for each worker's last error.

<log dir>/<run id>_xxxxxxxx/attempt_<generation>/<local rank>/error.json
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final

from transports import keeper
from transports.keeper import Held

PREFIX: Final = "mtdrun_"  # of folders that go with their agents


class LogFolder:
    """The job's folder on this node. It goes when the agent does, unless it was asked for. Those of agents that were
    killed with their wardens are swept by the next one."""

    def __init__(self, log_dir: str | None, run_id: str) -> None:
        self._held: Held | None = None
        keeper.sweep_folders(tempfile.gettempdir(), PREFIX)
        if log_dir is None:
            self.path, self._held = keeper.make_folder(tempfile.gettempdir(), PREFIX)
        else:
            Path(log_dir).mkdir(parents=True, exist_ok=True)
            safe = re.sub(r"[^\w.-]", "_", run_id)
            self.path = Path(tempfile.mkdtemp(prefix=f"{safe}_", dir=log_dir))

    def of_worker(self, generation: int, local_rank: int) -> Path:
        folder = self.path / f"attempt_{generation}" / str(local_rank)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_kept(self) -> bool:
        """Whether the user wants to find it afterwards."""
        return self._held is None

    def close(self) -> None:
        if self._held is not None:
            keeper.remove_folder(self.path, self._held)
            self._held.close()

    def __repr__(self) -> str:
        return f"<LogFolder {self.path}>"
