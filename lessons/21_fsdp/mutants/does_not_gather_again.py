"""Backward computes with what forward has given back.

In this lesson freed memory reads as nan, so it shows. On a GPU it reads as whatever lies there now, which may be numbers.

Caught by: right
"""

# BLANK 4: nothing
# END
