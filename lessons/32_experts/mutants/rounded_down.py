"""The capacity is rounded down.

Seven tokens with two choices each, and four experts: 3.5 becomes 3, so two of 14 choices are dropped although all is as equal as can be. One
token and eight experts: nobody takes anything.

Caught by: seats, correct
Passes: choice, exchange, combine, trains
"""

# BLANK 2: int()
return int(factor * tokens * k / experts)
# END
