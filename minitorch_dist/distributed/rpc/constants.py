"""torch's names for what RPC begins with."""

from typing import Final

from minitorch_dist import not_offered

DEFAULT_RPC_TIMEOUT_SEC: Final = 60.0
DEFAULT_INIT_METHOD: Final = "env://"
DEFAULT_SHUTDOWN_TIMEOUT: Final = 0.0  # however long it takes
DEFAULT_NUM_WORKER_THREADS: Final = 16
UNSET_RPC_TIMEOUT: Final = -1.0  # that of the options

not_offered.guard(globals())
