"""The rows that came are shared out to the experts in one piece each.

Rank 0's rows for both experts come first, then rank 1's. It is not enough to count how many rows each expert has.

Caught by: exchange, correct
Passes: choice, seats, combine
"""

# BLANK 7: expert after expert
at = 0
for number, mine in enumerate(places):
    count = sum(counts[number] for counts in came)
    mine.extend(range(at, at + count))
    at += count
# END
