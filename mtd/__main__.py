"""`python -m mtd` is `mtd`, for environments without scripts on the path."""

import sys

from mtd.cli import main

sys.exit(main())
