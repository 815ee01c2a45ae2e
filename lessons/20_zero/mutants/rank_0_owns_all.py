"""Rank 0 owns everything: right, but only the others save memory.

Caught by: memory
Passes: correct, bytes
"""

# BLANK 1: all of them to the first
parts[0].extend(parameters)
# END
