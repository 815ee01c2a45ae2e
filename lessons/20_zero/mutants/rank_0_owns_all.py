"""Rank 0 owns everything: right, and the others save what rank 0 does not.

Caught by: memory
Passes: right, bytes
"""

# BLANK 1: all of them to the first
parts[0].extend(parameters)
# END
