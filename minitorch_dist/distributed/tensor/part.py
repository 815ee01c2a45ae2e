"""`TensorPart`: a tensor of which this rank has a part. Operations that do not know about parts refuse it.

An operation computes with the array of its inputs, which is this rank's part. Its result would be a wrong number
without a word. So every operation that makes a tensor of a TensorPart is an error, unless the part is the whole. A function
that knows better takes `here(part)`, an ordinary tensor, and says how the result lies.
"""

from __future__ import annotations

from typing import Any, Final

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.placements import Placement
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase, bare
from minitorch_dist.tensors.core.graph import node_of_leaf
from minitorch_dist.tensors.tensor import Tensor

KEPT = {"requires_grad_", "detach_"}  # they end with `_` and write nothing


_REQUIRES_GRAD: Final[Any] = vars(TensorBase)["_requires_grad"]  # the slot, which a part hides


class TensorPart(Tensor):
    """`_requires_grad` and `plain` are what every operation asks its inputs for: here the question is refused."""

    is_part = True

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._lying[0]  # type: ignore[no-any-return]

    @property
    def placements(self) -> tuple[Placement, ...]:
        return self._lying[1]  # type: ignore[no-any-return]

    @property
    def _whole(self) -> tuple[int, ...]:
        return self._lying[2]  # type: ignore[no-any-return]

    def is_whole_here(self) -> bool:
        """Whether this rank has all of it."""
        pairs = zip(self.placements, self.device_mesh.shape, strict=True)
        return all(one.is_replicate() or size == 1 for one, size in pairs)

    def _refuse_part(self, name: str = "this operation") -> None:
        if not self.is_whole_here():
            raise NotImplementedError(
                f"{name} is not offered for a DTensor that lies as {self.placements}: it would compute with this "
                "rank's part alone. Take full_tensor() for the whole, to_local() for this rank's part, or "
                "redistribute(placements=[Replicate()]) first. PyTorch computes with DTensors"
            )

    @property
    def plain(self) -> type[Any]:  # type: ignore[override]
        """The class of results."""
        self._refuse_part()
        return Tensor

    @property
    def _requires_grad(self) -> bool:
        self._refuse_part()
        return self.requires_grad

    @_requires_grad.setter
    def _requires_grad(self, value: bool) -> None:
        _REQUIRES_GRAD.__set__(self, value)

    @property
    def requires_grad(self) -> bool:
        return bool(_REQUIRES_GRAD.__get__(self))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        Tensor.requires_grad.fset(self, value)  # type: ignore[attr-defined]

    def register_hook(self, hook: Any) -> Any:
        return here(self, self.requires_grad).register_hook(hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        return here(self, self.requires_grad).register_post_accumulate_grad_hook(hook)

    def is_recorded(self) -> bool:
        """Whether an operation on this has to note its gradient."""
        return self.requires_grad and grad_mode.current_mode() == grad_mode.ON


def here(part: TensorPart, with_history: bool | None = None) -> Tensor:
    """This rank's part as an ordinary tensor, at the same place in the graph: gradients of one are those of the other."""
    out = without_history(part)
    if part.is_recorded() if with_history is None else with_history:
        out._grad_fn, out._output_nr, out._requires_grad = part._grad_fn, part._output_nr, True
        if part._grad_fn is None:
            out._accumulate = part._accumulate or node_of_leaf(part)
    return out


def without_history(tensor: TensorBase) -> Tensor:
    """This rank's memory as an ordinary tensor outside of the graph: what a collective takes, also of a DTensor."""
    return bare(Tensor, tensor.array, tensor.storage)


def _refusing(name: str, function: Any) -> Any:
    def refuse(self: TensorPart, *args: Any, **options: Any) -> Any:
        self._refuse_part(f"{name}()")
        return function(self, *args, **options)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


WITHOUT_A_TENSOR = (
    "__array__ __bool__ __contains__ __float__ __index__ __int__ __iter__ __reversed__ "
    "__setitem__ allclose backward equal item numpy tolist"
)
"""Methods that pass by what an operation asks: they make no tensor, or write into one."""
OF_SHAPES = (
    "__getitem__ chunk expand expand_as flatten flip narrow permute ravel reshape reshape_as roll",
    "select split squeeze t tensor_split transpose unbind unflatten unsqueeze view view_as",
    "__matmul__ __rmatmul__ matmul mean mm softmax",
)
"""Methods that look at sides and dimensions before they ask: they would speak of the part."""

for _name in [
    *WITHOUT_A_TENSOR.split(),
    *" ".join(OF_SHAPES).split(),
    *[n for n in dir(Tensor) if n.endswith("_") and not n.endswith("__") and n not in KEPT],
]:
    setattr(TensorPart, _name, _refusing(_name, getattr(Tensor, _name)))
for _name in ("T", "mT"):
    setattr(TensorPart, _name, property(_refusing(_name, vars(Tensor)[_name].fget)))
