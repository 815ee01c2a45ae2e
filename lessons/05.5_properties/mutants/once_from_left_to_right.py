"""The shrinker goes once from left to right

An element that was needed at first may be superfluous when others are gone.
Caught by: shrinks
Passes: draws, accepts right ones, rejects wrong ones
"""

# BLANK 3: never back
at = 0
while at < len(example):
    shorter = example[:at] + example[at + 1 :]
    if fails(shorter):
        example = shorter
    at += 1
return example
# END
