"""Every rank sends everything to all others, and adds in the order of the ranks: right to the last bit, but it sends too much.

Caught by: bytes
Passes: correct, exactly once, never stuck, same on all, any schedule, any place, bound
"""

# BLANK 2: everything, everywhere
tensor.copy_(added(exchange([tensor] * size)))
# END
