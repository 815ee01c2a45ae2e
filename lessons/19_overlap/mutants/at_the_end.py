"""All buckets are launched when backward is over, as in lesson 18: right, and late.

Caught by: order, time
Passes: launch, average, correct, never stuck, frozen
"""

# BLANK 1: nothing leaves early
# END
