"""A receiver goes on at the instant at which the message landed.

If that is long ago, the rank's clock runs backwards.

Caught by: received, correct, as the library
Passes: leaves, lands, monotone
"""

# BLANK 3: the past
return landed
# END
