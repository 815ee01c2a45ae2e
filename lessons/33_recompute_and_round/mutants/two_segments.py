"""Two segments, however many layers there are.

With 4 layers this is the best. With 64 layers it holds 34 outputs, where 16 will do.

Caught by: memory
Passes: correct, same dice, time
"""

# BLANK 5: in the middle
return sorted({0, count // 2, count})
# END
