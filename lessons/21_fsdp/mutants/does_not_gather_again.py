"""Backward computes with memory that forward has freed.

In this lesson freed memory reads as nan, so you see it. On a GPU it reads as whatever is there now, which may be ordinary
numbers.

Caught by: backward, correct
"""

# BLANK 7: nothing
# END
