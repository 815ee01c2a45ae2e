"""The given modules: the stack's lessons stand on them, and not on the library.

tensors  autograd  nn  optim  orders                tensors that train: lessons 02 to 04, and torch's names around them
world  distributed                                  one rank among others: mailboxes (05), messages (08), collectives
contract  errors  frames  rendezvous  store         what a wire is, and where ranks meet: lessons 09 and 10
broker                                              one more wire; tcp is lesson 09, a folder lesson 28
post  rpc  futures                                  messages between ranks of which none knows who speaks next: 22 to 25
exact  training  remote  programs                   the digits, and what ranks do with all this
main  launch  machines  failures  examine           `python -m`: start ranks, look after them, find whose code is wrong
"""
