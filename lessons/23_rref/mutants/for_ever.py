"""Never give anything back: what is never freed is never freed too early.

Caught by: always freed, library
Passes: never too early
"""

# BLANK 1: better safe than sorry
return False
# END
