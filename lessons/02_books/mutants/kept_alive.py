"""The function that is called at the end holds the storage itself, so the end never comes.

Caught by: freed
Passes: counted, memory, places
Seen: https://github.com/DiamondLightSource/httomo/pull/265
"""

# BLANK 1: the storage is an argument of its own farewell
self.by_category[category] += storage.nbytes
weakref.finalize(storage, lambda: self.leave(storage.nbytes, category))
# END
