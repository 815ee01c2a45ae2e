"""Lazy: receivers have as many ports as they need.

One formula less, and seven ranks send to one in the time of a single message.

Caught by: correct, as the library
Passes: monotone, silent
"""

# BLANK 2: nobody is in the way
return now + self.hold(nbytes)
# END
