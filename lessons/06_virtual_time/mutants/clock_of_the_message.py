"""A receiver goes on at the instant at which the message landed.

If that is long ago, the rank's clock runs backwards.

Caught by: correct, as the library
Passes: monotone
"""

# BLANK 3: the past
return landed
# END
