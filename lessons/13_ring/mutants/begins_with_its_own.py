"""The second half begins with the chunk of one's own number, as the first did, and not with the one that is finished here.

With two ranks it sends a chunk that is half a sum. A ring that ends one place further on would be right.

Caught by: correct, exactly once
"""

# BLANK 2: not the finished one
going = (rank - step) % size
coming = (rank - step - 1) % size
# END
