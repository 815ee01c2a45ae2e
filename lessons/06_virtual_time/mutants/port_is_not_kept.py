"""A message waits for the port, and then does not keep it.

Caught by: leaves, correct, as the library
Passes: lands, received, monotone, silent
"""

# BLANK 1: nobody ever waits
return max(now, self.sending_free[src])
# END
