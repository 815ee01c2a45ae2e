"""Forget the answers below the floor, and the floor too.

The first letter, lost somewhere on its way and long replaced by its copy, comes after all. Nobody knows it.

Caught by: at most once
Passes: right, answered, memory
"""

# BLANK 2: forget what lies below
for number in [n for who, n in self.known if who == src and n < floor]:
    del self.known[src, number]
# END
