"""No fork is ever given back: an object that is never freed is never freed too early.

Caught by: always freed, library
Passes: never too early
"""

# BLANK 1: better safe than sorry
return False
# END
