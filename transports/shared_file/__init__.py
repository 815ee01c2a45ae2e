"""The parts of `file`: one file that all ranks of a host see, and nothing left behind.

places       the meaning of an address: where the file is, which kind, how large
mounts       the file system of a path, and whether a mapping of its files can be trusted
signed_file  the file in which the ranks meet: one rank makes it, all prove that it is theirs
setup        how the ranks come together, before the first message
rings        mapped files: a ring for each ordered pair of ranks
ring         one ring, with its writer and its reader
logs         unmapped files: an append-only log for each ordered pair, for network file systems
peer_watch   whether a peer still lives
"""
