"""The chunk index runs the wrong way.

With two ranks + and - are the same, so a test with two ranks passes.

Caught by: correct, exactly once
"""

# BLANK 1: the wrong way round
going = (rank + step) % size
coming = (rank + step + 1) % size
# END
