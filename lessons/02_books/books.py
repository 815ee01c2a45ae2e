"""A tensor that keeps the books: memory is written down when it is taken, and crossed out when it is freed.

x      (2, 3) ──┐
x.T    (3, 2) ──┼──▶ Storage ──▶ 48 bytes       one entry in the ledger,
x[0]      (3) ──┘                               however many views there are
"""

import weakref

import numpy as np

CATEGORIES = ("parameter", "gradient", "optimizer", "activation", "communication")


class Ledger:
    """How many bytes are alive, for what, and how many there were at the peak."""

    def __init__(self):
        self.by_category = dict.fromkeys(CATEGORIES, 0)
        self.peak = 0

    @property
    def live(self):
        return sum(self.by_category.values())

    def enter(self, storage, category):
        """Count the storage's bytes from now on, until it is freed."""
        # BLANK 1: write `storage.nbytes` down, and see to it that `leave` crosses them out (about 2 lines)
        # weakref.finalize(thing, function, *arguments) calls function(*arguments) as soon as `thing` is gone.
        self.by_category[category] += storage.nbytes
        weakref.finalize(storage, self.leave, storage.nbytes, category)
        # END
        self.peak = max(self.peak, self.live)

    def leave(self, nbytes, category):
        self.by_category[category] -= nbytes

    def __repr__(self):
        held = ", ".join(f"{name} {n}" for name, n in self.by_category.items() if n)
        return f"<Ledger: {self.live} bytes live ({held or 'nothing'}), {self.peak} at the peak>"


ledger = Ledger()  # of this process; later, when every rank is a process, of this rank


class Storage:
    """The bytes under a tensor, and under all views of it."""

    def __init__(self, array, category):
        self.array = array
        self.category = category
        ledger.enter(self, category)

    @property
    def nbytes(self):
        return self.array.nbytes


class Tensor:
    """Numbers (`array`), and the storage in which they lie."""

    def __init__(self, data, category="activation", storage=None):
        self.array = np.asarray(data, dtype=np.float64)
        self.storage = storage or Storage(self.array, category)

    @property
    def shape(self):
        return self.array.shape

    def __repr__(self):
        return f"tensor({self.array.tolist()})"

    # Looking at the same numbers in another way: numpy makes a view if it can, and else a copy.

    def reshape(self, *shape):
        return self.window(self.array.reshape(shape))

    @property
    def T(self):
        return self.window(self.array.T)

    def __getitem__(self, index):
        return self.window(self.array[index])

    def expand(self, *shape):
        """Repeated along axes of size 1, and along new ones in front. No number is copied."""
        return self.window(np.broadcast_to(self.array, shape))

    def window(self, array):
        """A tensor that shows `array`, which numpy made of ours."""
        # BLANK 2: a view has our storage, a copy has one of its own (about 3 lines)
        # np.may_share_memory(a, b) tells whether two arrays lie in the same memory.
        is_view = np.may_share_memory(array, self.array)
        storage = self.storage if is_view else None
        return Tensor(array, self.storage.category, storage)
        # END

    # New numbers, so a new storage. Shapes that differ are broadcast: (2, 3) + (3,) is (2, 3).

    def __add__(self, other):
        return Tensor(self.array + other.array)

    def __mul__(self, other):
        return Tensor(self.array * other.array)


def sum_to(grad, shape):
    """Undo broadcasting: the gradient of an array of this shape, which was broadcast to grad.shape.

    A number that was used several times gets the sum of what comes back from all its uses.
    """
    # BLANK 3: add up over the axes that broadcasting put in front, and over those it stretched (about 6 lines)
    # `grad` is a numpy array. grad.sum((0, 1)) adds up over axes 0 and 1; with keepdims=True they stay, as size 1.
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(extra)))
    stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return grad.sum(stretched, keepdims=True)
    # END
