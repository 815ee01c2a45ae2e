"""The rank that notices a mismatch raises, and is gone: the others wait for it, and learn nothing.

Caught by: mismatch
Passes: correct, never stuck
"""

# BLANK 3: nobody else is told
first = self.store.compare_set(f"doing/{here}", "", f"{operation}\n{mine}").decode()
if first.split("\n")[0] != operation:
    first_one = first.split("\n")[1]
    raise Mismatch(f"{first_one}; {mine}")
self.barrier()
# END
