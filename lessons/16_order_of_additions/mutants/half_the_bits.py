"""The sum is kept in float32: it is faster, and looks the same when it is printed.

The bits are the same everywhere, always; but only half of them mean anything.

Caught by: bound
Passes: correct, same on all, any schedule, any place, bytes
"""

# BLANK 1: in float32
total = came[0].float()
for rank in range(1, len(came)):
    total = total + came[rank].float()
return total.to(came[0].dtype)
# END
