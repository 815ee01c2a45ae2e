"""The receiving port counts how long it was busy in all, and not until when.

Caught by: lands, correct, as the library
Passes: leaves, received
"""

# BLANK 2: += counts from the beginning of the program
begins = max(now, self.receiving_free[dst])
self.receiving_free[dst] += self.hold(nbytes)
return begins + self.hold(nbytes)
# END
