"""Lazy: receivers have as many ports as they need.

One formula less, and seven ranks send to one in the time of a single message.

Caught by: lands, correct, as the library
Passes: leaves, received, monotone, silent
"""

# BLANK 2: nobody is in the way
return now + self.hold(nbytes)
# END
