"""The contents of this release: its number, parts that other packages bring, and names of torch that are not here.

release        the number
plugs          pictures and algorithms that register themselves
no_compiler    `compile`, which returns the function itself
not_offered    asking for a name that is not here says so, and says how to have it; `gone.txt` has those that were here
"""
