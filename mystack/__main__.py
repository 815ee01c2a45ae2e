import os
import sys

from .face.main import main

try:
    status = main()
    sys.stdout.flush()
except BrokenPipeError:  # nobody reads any more: … | head
    os._exit(0)
except KeyboardInterrupt:
    status = 130
sys.exit(status)
