"""Each rank believes that it has all heads, and cuts its columns into too many.

Nothing fails where the columns of a rank can be divided so often: then each head is narrower, and computes something else.

Caught by: heads, in the library
Passes: pieces, correct
"""

# BLANK 15: checked, and not divided
part(heads, "heads")
self.heads = heads
# END
