"""Everybody sends everything to everybody, and adds in the order of the ranks: lazy, and right to the last bit.

Caught by: bytes
Passes: right, exactly once, never stuck, same on all, any schedule, any place, bound
"""

# BLANK 2: everything, everywhere
tensor.copy_(added(exchange([tensor] * size)))
# END
