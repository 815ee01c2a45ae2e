"""A bucket for each gradient: right, and as slow as lesson 17.

Caught by: correct, rounds
Passes: bytes
"""

# BLANK 1: no bucket waits
buckets.append([p])
# END
