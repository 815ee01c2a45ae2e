"""`python -m minitorch_dist.cli` is `mtd`, for environments without scripts on the path."""

import sys

from minitorch_dist.cli import main

sys.exit(main())
