"""Which message belongs to which receive. Written once, for every transport.

wire        the header of a message: where it belongs, and what its sender was doing
above       what it asks of groups, operations and notes, which stand above it
receives    where a message goes: into the array that waits for it, into a buffer, or to the mailbox itself
pairing     receives that wait for their message, and messages that came before their receive
mailbox     all of one rank's: what a transport delivers to, and what everybody above waits in
texts       what the errors say: which rank, in which operation
traffic     messages that went and came, and threads: what `circles` asks
recorder    what goes into a journal, if one is kept
"""
