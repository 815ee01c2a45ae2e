"""Each chunk is added in one place, as its parts come in.

All ranks get the same bits, but in the next run they get other bits.

Caught by: any schedule
Passes: correct, exactly once, never stuck, same on all, bound, bytes
Seen: https://github.com/tenstorrent/tt-metal/pull/50688
"""

# BLANK 1: in the order of arrival
total = 0
for part in came.values():
    total = total + part
return total
# END
