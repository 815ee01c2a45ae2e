"""torch's launcher of before torchrun: the same, and it passes `--local-rank=N` to the script.

Deprecated, as in torch: `distributed.run` sets LOCAL_RANK in the environment instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from minitorch_dist.distributed import run


def main(args: Sequence[str] | None = None) -> None:
    warnings.warn(
        "The module minitorch_dist.distributed.launch is deprecated, as torch's is. Use "
        "minitorch_dist.distributed.run (mtdrun). Note that --use-env is set by default there: if "
        "your script expects a `--local-rank` argument, let it read os.environ['LOCAL_RANK'] "
        "instead.",
        FutureWarning,
        stacklevel=2,
    )
    parser = run.get_args_parser()
    parser.add_argument(
        "--use-env",
        "--use_env",
        default=False,
        action="store_true",
        help="do not pass --local-rank; the script reads LOCAL_RANK from its environment",
    )
    run.finish(run.known_options(parser, args))


if __name__ == "__main__":
    main()
