"""The floor of a broadcast is ⌈log2 P⌉ rounds, so that of an all_reduce must be twice as much: there and back.

Recursive doubling needs no way back, and is faster than this floor.

Caught by: floor
Passes: prices, choice
"""

# BLANK 5: twice
return max(2 * rounds_to_all(size) * links.alpha, 2 * (size - 1) / size * nbytes * links.beta)
# END
