"""A bucket for each gradient: right, and as slow as lesson 17.

Caught by: assign, rounds
Passes: pack, average, pieces, correct, bytes
"""

# BLANK 1: no bucket waits
buckets.append([p])
# END
