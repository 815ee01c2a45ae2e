"""`python -m minitorch_dist.run` is `python -m minitorch_dist.distributed.run`."""

from __future__ import annotations

from minitorch_dist.distributed.run import main as main

if __name__ == "__main__":
    main()
