"""A tensor that keeps the books: memory is written down
when it is taken, and crossed out when it is freed.

                   strides
x      (2, 3)      (3, 1) ──┐
x.T    (3, 2)      (1, 3) ──┼──▶ Storage ──▶ 48 bytes       one entry in the ledger,
x[1]      (3)         (1) ──┘                               however many views there are

Broadcasting: arrays of different shapes in one operation, without a copy, and the way back.

x           (4, 2, 3)     aligned at the right; an axis that is missing has size 1
bias           (2, 1)
x + bias    (4, 2, 3)     axes of size 1 are stretched: each number of bias is used 12 times

forward     expand        a view with the stride 0 along the axes that are stretched
backward    sum_to        what comes back from the 12 uses of a number is added up
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
        # BLANK 1: add `storage.nbytes` to its category now; `leave` subtracts them when the storage is freed (about 2 lines)
        # weakref.finalize(thing, function, *arguments) calls
        # function(*arguments) later, as soon as `thing` is freed.
        self.by_category[category] += storage.nbytes
        weakref.finalize(storage, self.leave, storage.nbytes, category)
        # END
        self.peak = max(self.peak, self.live)

    def leave(self, nbytes, category):
        self.by_category[category] -= nbytes

    def __repr__(self):
        held = ", ".join(f"{name} {n}" for name, n in self.by_category.items() if n)
        return f"<Ledger: {self.live} bytes live ({held or 'nothing'}), {self.peak} at the peak>"


def data_ptr(array):
    """The address of an array's first number in this machine's memory, in bytes."""
    return array.__array_interface__["data"][0]


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

    def window(self, array):
        """A tensor that shows `array`, which numpy made of ours."""
        # BLANK 2: a view has our storage, a copy has one of its own (about 3 lines)
        # np.may_share_memory(a, b) tells whether two arrays lie in the same memory.
        is_view = np.may_share_memory(array, self.array)
        storage = self.storage if is_view else None
        return Tensor(array, self.storage.category, storage)
        # END

    # Where a number lies: its place in the storage is counted in numbers, from 0.

    @property
    def offset(self):
        """The place of this tensor's first number."""
        return (data_ptr(self.array) - data_ptr(self.storage.array)) // self.array.itemsize

    @property
    def strides(self):
        """For each axis: how many places further the next number along it lies."""
        return tuple(n // self.array.itemsize for n in self.array.strides)

    def place(self, *index):
        """The place of the number at `index`, one number for each axis."""
        # BLANK 3: begin at the offset, and go along each axis as many strides as the index says (about 1 line)
        return self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))
        # END

    # New numbers, so a new storage.

    def __add__(self, other):
        return Tensor(self.array + other.array)

    def __mul__(self, other):
        return Tensor(self.array * other.array)


# Broadcasting.


def aligned(numbers, axes, missing):
    """As many numbers as there are axes: `missing` in front, for axes that are not there."""
    return (missing,) * (axes - len(numbers)) + tuple(numbers)


def broadcast_shapes(a, b):
    """The shape in which arrays of the shapes `a` and `b` meet.

    ValueError if they do not fit together.
    """
    axes = max(len(a), len(b))
    sizes = []
    for n, m in zip(aligned(a, axes, 1), aligned(b, axes, 1), strict=True):
        # BLANK 4: append the size of this axis to `sizes`, or raise a ValueError (about 3 lines)
        # If one size is 1, the other one wins, also if that
        # is 0. If neither is 1, they have to be equal.
        if n != m and 1 not in (n, m):
            raise ValueError(
                f"{a} and {b} do not fit together: {n} and {m} differ, and neither is 1"
            )
        sizes.append(m if n == 1 else n)
        # END
    return tuple(sizes)


def expanded_strides(shape, strides, larger):
    """The strides with which numbers of this shape
    and these strides are seen in the shape `larger`.

    A stride says how far it is to the next number along an axis.
    """
    # BLANK 5: a tuple with a stride for each axis of `larger` (about 3 lines)
    sizes = aligned(shape, len(larger), 1)
    steps = aligned(strides, len(larger), 0)
    return tuple(step if n == m else 0 for n, step, m in zip(sizes, steps, larger, strict=True))
    # END


def expand(tensor, *shape):
    """A view of the tensor in this larger shape.

    No number is copied, so nobody may write into it.
    """
    array = tensor.array
    if broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"{array.shape} cannot be expanded to {shape}: it would have to shrink")
    strides = expanded_strides(array.shape, array.strides, shape)
    # as_strided believes what it is told: wrong strides would lead to memory that is not ours.
    return tensor.window(np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False))


def sum_to(grad, shape):
    """Undo broadcasting: the gradient of an array of this shape, which was broadcast to grad.shape.

    A number that was used several times gets the sum of what comes back from all its uses.
    """
    # BLANK 6: add up over the axes that broadcasting put in front, and over those it stretched (about 6 lines)
    # `grad` is a numpy array. grad.sum((0, 1)) adds up over
    # axes 0 and 1; with keepdims=True they stay, as size 1.
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(extra)))
    stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return grad.sum(stretched, keepdims=True)
    # END
