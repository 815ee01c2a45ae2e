"""A message waits for the port, and then does not keep it.

Caught by: correct, as the library
Passes: monotone, silent
"""

# BLANK 1: nobody ever waits
return max(now, self.sending_free[src])
# END
