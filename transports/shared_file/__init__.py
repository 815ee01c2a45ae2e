"""What `file` stands on: one file that all ranks of a host see, and nothing left behind.

places      what an address says: where, how, and how large
mounts      which file system that is, and whether a mapping of it can be trusted
meeting     the file in which the ranks meet: made by one, proved by all
settling    how they come together, before the first message
rings       mapped: a ring for each ordered pair, with one writer and one reader
logs        not mapped: an append-only file for each ordered pair, for network file systems
watch       does a peer still live?
"""
