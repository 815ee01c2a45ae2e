"""Who may delete an object that others refer to? Its
owner, and only when it has heard from all of them.

An object stays on its owner's rank; a reference is what travels. Each
rank that can reach the object holds a *fork*, and the owner keeps the
object while it knows of one. A fork has a number of its own.

 owner 0                 1                          2            the owner knows of the forks of
    │ ── REFERENCE ────► │                          │            1   (entered before it was sent)
    │                    │ ── REFERENCE ──────────► │            1
    │                    │    1 lets go: it waits   │
    │ ◄──────────────────┼────────────────── FORK ─ │            1 2
    │ ─ ENTERED ─────────┼────────────────────────► │            1 2
    │                    │ ◄────────────── ADOPTED ─│            1 2
    │ ◄──────── DELETE ─ │                          │              2
    │ ◄──────────────────┼──────────────── DELETE ─ │            nobody: the object is freed

The real one: minitorch_dist/distributed/rpc/rref_context.py, whose `Fork.is_over` yours can be.
"""

from .face.post import MessageBox

REFERENCE, FORK, ENTERED, ADOPTED, DELETE = "reference", "fork", "entered", "adopted", "delete"
QUIET = 40.0  # seconds without a message: nothing will happen any more


class Owned:
    """An object of ours."""

    def __init__(self, value):
        self.value = value
        self.handles = 1  # references to it on this rank
        self.forks = {}  # which rank holds each fork that we know of


class Fork:
    """Our right to an object of another rank."""

    def __init__(self, owner, id, number, parent):
        self.owner, self.id, self.number, self.parent = owner, id, number, parent
        self.confirmed = False  # the owner has entered it
        self.children = set()  # forks that we made by passing it on, and nobody has adopted yet
        self.is_released = False  # nobody on this rank wants it any more


def is_over(fork):
    """Whether the owner may now be told that this fork is no more."""
    return fork.is_released and fork.confirmed and not fork.children


class Book:
    """All references of one rank. `welcome(reference)` is called with each that comes."""

    def __init__(self, welcome=lambda reference: None):
        self.post, self.welcome = MessageBox(), welcome
        self.rank, self.made = self.post.rank, 0
        self.owned = {}  # by id
        self.forks = {}  # by number: ours
        self.parents = {}  # by number of a child: the fork of ours that it was made from

    def new_number(self):
        """One that no other rank has."""
        self.made += 1
        return self.rank, self.made

    def own(self, value):
        """A new object; its reference."""
        id = self.new_number()
        self.owned[id] = Owned(value)
        return id

    def pass_on(self, reference, to):
        """Send a reference to another rank: there will be one fork more."""
        child = self.new_number()
        if reference in self.owned:
            self.owned[reference].forks[child] = to
            owner, id = self.rank, reference
        else:
            fork = self.forks[reference]
            fork.children.add(child)
            self.parents[child] = fork
            owner, id = fork.owner, fork.id
        self.post.send(to, (REFERENCE, owner, id, child))

    def arrived(self, src, owner, id, number):
        """A reference has come from rank `src`."""
        if owner == self.rank:
            self.owned[id].handles += 1
            self.post.send(src, (ADOPTED, number))
            return self.welcome(id)
        fork = self.forks[number] = Fork(owner, id, number, src)
        if src == owner:
            fork.confirmed = True
        else:
            self.post.send(owner, (FORK, id, number))
        return self.welcome(number)

    def drop(self, reference):
        """Nobody here wants it any more: `del rref`."""
        if reference in self.owned:
            self.owned[reference].handles -= 1
            self.free_unless_held(reference)
        else:
            self.forks[reference].is_released = True
            self.settle(self.forks[reference])

    def settle(self, fork):
        """Give a fork back, if its time has come.

        Called whenever something about it has changed.
        """
        if is_over(fork):
            del self.forks[fork.number]
            self.post.send(fork.owner, (DELETE, fork.id, fork.number))

    def free_unless_held(self, id):
        if not (self.owned[id].handles or self.owned[id].forks):
            self.free(id)

    def free(self, id):
        del self.owned[id]

    def take(self, src, kind, *said):
        """Do what a message says."""
        if kind == REFERENCE:
            self.arrived(src, *said)
        elif kind == FORK:  # to the owner: enter mine
            id, number = said
            assert id in self.owned, (
                f"rank {src} asks for an object that rank {self.rank} has freed"
            )
            self.owned[id].forks[number] = src
            self.post.send(src, (ENTERED, number))
        elif kind == ENTERED:  # to the rank that asked; its parent waits for this
            (number,) = said
            assert number in self.forks, (
                f"rank {self.rank} gave a fork back before the owner had entered it"
            )
            fork = self.forks[number]
            fork.confirmed = True
            self.post.send(fork.parent, (ADOPTED, number))
            self.settle(fork)
        elif kind == ADOPTED:  # to the parent
            (number,) = said
            if number in self.parents:
                parent = self.parents.pop(number)
                parent.children.discard(number)
                self.settle(parent)
        elif kind == DELETE:  # to the owner
            id, number = said
            del self.owned[id].forks[number]
            self.free_unless_held(id)

    def serve(self):
        """Take messages until there are none any more."""
        while (message := self.post.receive(QUIET)) is not None:
            self.take(message[0], *message[1])
        self.post.leave()

    def leaks(self):
        """The forks that were never given back, in words."""
        return [
            f"object {id} of rank {self.rank} is still held by rank {holder}"
            for id, owned in self.owned.items()
            for holder in sorted(set(owned.forks.values()))
        ]
