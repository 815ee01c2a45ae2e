"""The callee forgets the answers below the floor, and the floor too.

The first message seemed lost, and a copy replaced it. Now it arrives after all, and the callee does not know its number any more.

Caught by: at most once
Passes: correct, answered, memory
"""

# BLANK 2: forget what lies below
for number in [n for who, n in self.known if who == src and n < floor]:
    del self.known[src, number]
# END
