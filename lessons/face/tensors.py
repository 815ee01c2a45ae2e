"""Tensors: those of lessons 02 and 03, and what other lessons ask of a tensor besides, under torch's names.

All numbers are float64. A view shares memory with what it shows; `detach` shares it and forgets the graph.
"""

import mmap
from contextlib import ContextDecorator
from functools import partial
from math import prod

import numpy as np

from .. import backwards, books
from ..books import sum_to

float64, int64 = np.dtype(np.float64), np.dtype(np.int64)  # numbers that count are float64, too
recording = True  # whether operations leave nodes
callbacks = []  # to be called when the present backward pass is over


class Size(tuple):
    def numel(self):
        return prod(self)


class Leaf(backwards.AccumulateGrad):
    """Where gradients end: their sum, and functions that are called before it is made, and after."""

    def __init__(self):
        super().__init__()
        self.before, self.hooks = [], []

    def collect(self, grad):
        for hook in self.before:
            hook(Tensor(grad))
        super().collect(grad)
        self.grad = Tensor(np.array(self.grad.array, order="C"), "gradient")  # nobody else's memory
        for hook in self.hooks:
            hook()


class Tensor(backwards.Tensor):
    """A tensor that can be written to, and whose views have gradients."""

    def __init__(self, data, category="activation", storage=None, requires_grad=False):
        super().__init__(data, "parameter" if requires_grad else category, storage)
        self.node = Leaf() if requires_grad else None

    # Its form.

    @property
    def shape(self):
        return Size(self.array.shape)

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def nbytes(self):
        return self.array.nbytes

    @property
    def requires_grad(self):
        return self.node is not None

    def numel(self):
        return self.array.size

    def __len__(self):
        return len(self.array)

    def item(self):
        return self.array.item()

    def tolist(self):
        return self.array.tolist()

    def to(self, *where):
        return self

    # Gradients.

    @property
    def grad(self):
        return self.node.grad if isinstance(self.node, Leaf) else None

    @grad.setter
    def grad(self, grad):
        self.node.grad = grad

    def requires_grad_(self, wanted=True):
        if wanted:
            self.node = self.node or Leaf()
        elif self.node is not None:
            raise TypeError("in this stack all parameters are trained")
        return self

    def register_post_accumulate_grad_hook(self, hook):
        """Call hook(self) as soon as a backward pass has finished `grad`."""
        self.node.hooks.append(partial(hook, self))

    def register_hook(self, hook):
        """Call hook(gradient) when backward comes here, before it goes on."""
        if isinstance(self.node, Leaf):
            self.node.before.append(hook)
            return

        def passing(grad):
            hook(Tensor(grad))
            return grad

        self.node = backwards.Node("Hook", (self.node, passing))

    def backward(self, gradient=None):
        backwards.send_back(self.node, np.ones(self.shape) if gradient is None else gradient.array)
        while callbacks:
            callbacks.pop(0)()

    # The same memory.

    def detach(self):
        return Tensor(self.array, self.storage.category, self.storage)

    @property
    def data(self):
        return self.detach()

    @data.setter
    def data(self, other):
        self.array, self.storage = other.array, other.storage

    def untyped_storage(self):
        return self.storage

    def window(self, array, name="ViewBackward0", vjp=None):
        made = taken(books.Tensor.window(self, array))
        if recording and self.node is not None:
            made.node = backwards.Node(name, (self.node, vjp))
        return made

    def view(self, *shape):
        mine = self.array.shape
        wanted = shape[0] if isinstance(shape[0], tuple) else shape
        made = self.array.reshape(wanted)
        if made.size and not np.may_share_memory(made, self.array):
            raise RuntimeError(
                f"a tensor of shape {mine} that lies in columns has no view of shape {wanted}"
            )
        return self.window(made, vjp=lambda g: g.reshape(mine))

    def view_as(self, other):
        return self.view(other.shape)

    @property
    def T(self):
        return self.window(self.array.T, "TBackward0", lambda g: g.T)

    def __getitem__(self, index):
        def back(grad):
            whole = np.zeros(mine)
            np.add.at(whole, index, grad)
            return whole

        mine = self.array.shape
        return self.window(self.array[index], "SliceBackward0", back)

    def split(self, lengths):
        ends = np.cumsum([0, *lengths]).tolist()
        return [self[begin:end] for begin, end in zip(ends, ends[1:])]

    def index_add(self, dim, index, source):
        """This tensor, with the rows of `source` added to those that `index` names."""
        rows = index.array.astype(int)
        total = self.array.copy()
        np.add.at(total, rows, source.array)
        back = (self, lambda g: g), (source, lambda g: g[rows])
        return taken(backwards.record(total, "IndexAddBackward0", *back))

    # New numbers.

    def clone(self):
        return Tensor(self.array.copy("C"), self.storage.category)

    def contiguous(self):
        return self if self.array.flags.c_contiguous else self.clone()

    def new_zeros(self, *shape):
        return in_pages(shape)

    def new_empty(self, *shape):
        return zeros(*shape)

    def __add__(self, other):
        return taken(super().__add__(tensor(other)))

    def __mul__(self, other):
        return taken(super().__mul__(tensor(other)))

    def __truediv__(self, other):
        x, y = self.array, tensor(other).array
        to_x, to_y = (
            lambda g: sum_to(g / y, x.shape),
            lambda g: sum_to(-g * x / (y * y), y.shape),
        )
        return taken(backwards.record(x / y, "DivBackward0", (self, to_x), (tensor(other), to_y)))

    def __matmul__(self, other):
        return taken(super().__matmul__(other))

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -tensor(other)

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def relu(self):
        return taken(super().relu())

    def sum(self):
        return taken(super().sum())

    def abs(self):
        return Tensor(np.abs(self.array))

    def max(self):
        return Tensor(self.array.max())

    def double(self):
        return self

    def __pow__(self, exponent):
        return Tensor(self.array**exponent)

    def sqrt(self):
        return Tensor(np.sqrt(self.array))

    # Written in place.

    def written(self, function, other):
        if recording and self.node is not None:
            raise RuntimeError("a tensor that wants a gradient is written to: do it in no_grad")
        function(self.array, tensor(other).array, out=self.array)
        return self

    def copy_(self, other):
        return self.written(lambda mine, theirs, out: np.copyto(out, theirs), other)

    def add_(self, other, alpha=1):
        return self.written(np.add, tensor(other) * alpha if alpha != 1 else other)

    def sub_(self, other, alpha=1):
        return self.written(np.subtract, tensor(other) * alpha if alpha != 1 else other)

    def mul_(self, other):
        return self.written(np.multiply, other)

    def div_(self, other):
        return self.written(np.divide, other)

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    def __setitem__(self, index, value):
        self[index].copy_(value)


def taken(made):
    """A tensor that lessons 02 to 03 made, as one of ours: the same numbers, storage and node."""
    ours = Tensor.__new__(Tensor)
    ours.node = None
    ours.__dict__.update(vars(made))
    if not recording:
        ours.node = None
    return ours


# ------------------------------------------------------------------------------ memory that comes and goes


class Pages:
    """A storage that can be given back while views of it live: lesson 21 does so between its layers.

    The machine takes the pages back, and the addresses stay.
    """

    def __init__(self, shape):
        nbytes = prod(shape) * 8
        flags = (
            {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        )
        self.pages = mmap.mmap(-1, max(nbytes, 1), **flags)
        self.array = np.frombuffer(self.pages, float64, prod(shape)).reshape(shape)
        self.category = "parameter"
        self.entry = books.Storage(self.array, self.category)  # in the ledger while it lives

    @property
    def nbytes(self):
        return self.entry.nbytes if self.entry else 0

    def resize_(self, nbytes):
        if nbytes:
            self.entry = self.entry or books.Storage(self.array, self.category)
            return
        self.entry = None
        if hasattr(mmap, "MADV_DONTNEED"):
            self.pages.madvise(mmap.MADV_DONTNEED)


def in_pages(shape):
    pages = Pages(shape)
    return Tensor(pages.array, storage=pages)


# ------------------------------------------------------------------------------ functions


def tensor(data, dtype=None):
    return data if isinstance(data, Tensor) else Tensor(data)


def from_numpy(array):
    return Tensor(array)


def zeros(*shape, dtype=None):
    return Tensor(np.zeros(shape[0] if isinstance(shape[0], tuple) else shape))


def empty(*shape, dtype=None):
    return zeros(*shape)


def zeros_like(like):
    return Tensor(np.zeros(like.shape))


empty_like = zeros_like


def cat(parts, dim=0):
    def piece(begin, end):
        return lambda grad: grad.take(range(begin, end), dim)

    arrays = [part.array for part in parts]
    ends = np.cumsum([0, *(array.shape[dim] for array in arrays)]).tolist()
    back = map(piece, ends, ends[1:])
    return taken(backwards.record(np.concatenate(arrays, dim), "CatBackward0", *zip(parts, back)))


def add(a, b):
    return a + b


def mul(a, b):
    return a * b


def maximum(a, b):
    return Tensor(np.maximum(a.array, b.array))


def minimum(a, b):
    return Tensor(np.minimum(a.array, b.array))


# Random numbers are those of numpy.
get_rng_state, set_rng_state = np.random.get_state, np.random.set_state


class Grad(ContextDecorator):
    """Within the block, or the function, operations leave nodes or do not."""

    def __init__(self, wanted):
        self.wanted, self.before = wanted, []

    def __enter__(self):
        global recording
        self.before.append(recording)
        recording = self.wanted

    def __exit__(self, *error):
        global recording
        recording = self.before.pop()


no_grad, enable_grad = partial(Grad, False), partial(Grad, True)
