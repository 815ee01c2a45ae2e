"""A ring sends the fewest bytes, so it is the best: lazy.

Right for gradients. For a flag among a hundred ranks it takes 198 rounds where 8 would do.

Caught by: choice, plugs in
Passes: prices
"""

# BLANK 4: always
return "ring"
# END
