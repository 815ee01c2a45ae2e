"""Parts are rounded down, and what is left over belongs to nobody.

7 columns on 3 ranks: 2, 2 and 2. There is no error, and one feature is missing.

Caught by: pieces, heads, rows
Passes: correct, enter and leave, bytes
Seen: https://github.com/vipshop/cache-dit/pull/581
"""

# BLANK 1: nothing is refused
each = length // size
return slice(rank * each, (rank + 1) * each)
# END
