"""The shrinker returns the first list that passes

It went one step too far: what it shows is no failure at all.
Caught by: shrinks
Passes: draws, accepts right ones, rejects wrong ones
"""

# BLANK 3: until it passes
small = list(example)
while small and fails(small):
    small.pop()
return small
# END
