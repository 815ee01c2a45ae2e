"""Two operations are the same if the name of one begins with that of the other

reduce and reduce_scatter then meet, and each rank waits for messages that the others never send. A key that ends where another one goes
on has the same mistake: "came/1" and "came/10".

Caught by: mismatch
Passes: correct, never stuck, groups
"""

# BLANK 3: compared from the beginning, as far as the shorter one goes
first = self.store.compare_set(f"doing/{here}", "", f"{operation}\n{mine}").decode()
if not first.startswith(operation) and not operation.startswith(first.split("\n")[0]):
    first_one = first.split("\n")[1]
    self.store.set(f"mismatch/{here}", f"{first_one}; {mine}")
self.barrier()
# END
