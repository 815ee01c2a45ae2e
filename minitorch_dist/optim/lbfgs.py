"""L-BFGS (Liu & Nocedal 1989): Newton's method with a curvature that the last steps have shown.

Each step s that changed the gradient by y tells something about the curvature: H y = s. Two loops over
the last pairs (s, y) multiply the gradient by the inverse Hessian they imply, which is never written
down:

    q ← −g
    newest to oldest     aᵢ ← sᵢ·q / yᵢ·sᵢ       q ← q − aᵢ yᵢ
    d ← q · (s·y / y·y of the newest)
    oldest to newest     bᵢ ← yᵢ·d / yᵢ·sᵢ       d ← d + (aᵢ − bᵢ) sᵢ

One call of `step` makes up to `max_iter` moves, and `closure` computes loss and gradients for each.
All parameters are one vector here. The state belongs to the first parameter, under torch's names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import evaluate, require
from minitorch_dist.optim.line_search import LineSearch, Point
from minitorch_dist.optim.optimizer import Closure, Optimizer, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

LEAST_CURVATURE = 1e-10  # of a pair that is remembered


class LBFGS(Optimizer):
    def __init__(
        self,
        params: Params,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups): "
                f"it got {len(self.param_groups)} of them"
            )

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    def step(self, closure: Closure | None = None) -> Any:
        """Move up to `max_iter` times; returns the loss from before."""
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients")
        group, first = self.param_groups[0], self._params[0]
        state = self.state[first]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        loss = evaluate(closure)
        state["func_evals"] += 1
        value, grad = float(loss), self._gradient()
        if np.abs(grad).max(initial=0) <= group["tolerance_grad"]:
            return loss
        memory = Memory(state, first, group["history_size"])
        calls, moves = 1, 0
        while True:
            moves += 1
            state["n_iter"] += 1
            memory.learn(grad)
            direction, before = memory.direction(grad), value
            size = number(group["lr"])
            if state["n_iter"] == 1:
                size *= min(1.0, 1.0 / float(np.abs(grad).sum()))
            memory.move(direction, size, grad, before)
            slope = float(grad @ direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is None:
                self._go(size * direction)
                more = moves < group["max_iter"]  # after the last move nobody asks for the loss
                if more:
                    value, grad = float(evaluate(closure)), self._gradient()
                asked = int(more)
            else:
                start, limit = Point(0.0, value, grad, slope), group["max_eval"] - calls
                found, asked = self._search(closure, start, direction, size, limit)
                size, value, grad = found.step, found.value, found.grad
                self._go(size * direction)
                memory.move(direction, size, memory.grad, before)
            calls += asked
            state["func_evals"] += asked
            if moves == group["max_iter"] or calls >= group["max_eval"]:
                break
            if np.abs(grad).max() <= group["tolerance_grad"]:
                break
            if np.abs(size * direction).max() <= group["tolerance_change"]:
                break
            if abs(value - before) < group["tolerance_change"]:
                break
        memory.keep()
        return loss

    def _search(
        self, closure: Closure, start: Point, direction: Array, first: float, limit: int
    ) -> tuple[Point, int]:
        """A good step along `direction`, and how many calls of `closure` it took."""
        name = self.param_groups[0]["line_search_fn"]
        if name != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        begin = [p.array.copy() for p in self._params]

        def evaluate_at(step: float) -> Point:
            self._go(step * direction)
            value, grad = float(evaluate(closure)), self._gradient()
            for p, array in zip(self._params, begin, strict=True):
                p.array[...] = array
            return Point(step, value, grad, float(grad @ direction))

        search = LineSearch(evaluate_at, start, float(np.abs(direction).max()), limit)
        return search.find(first), search.count

    def _gradient(self) -> Array:
        """All gradients as one vector; a parameter without one counts as zeros."""
        return np.concatenate([
            _real(np.zeros_like(p.array) if p._grad is None else p._grad.array)
            for p in self._params
        ])  # fmt: skip

    def _go(self, by: Array) -> None:
        """Add the vector `by` to the parameters."""
        start = 0
        for p in self._params:
            x = p.array
            end = start + x.size * (2 if x.dtype.kind == "c" else 1)
            part = by[start:end].view(x.dtype) if x.dtype.kind == "c" else by[start:end]
            x += part.reshape(x.shape)
            p.storage.version += 1
            start = end


def _real(x: Array) -> Array:
    """`x` as a vector of real numbers; a complex number is two of them."""
    flat = x.ravel()
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


class Memory:
    """The last pairs of steps and changes, kept in the optimizer's state under torch's names."""

    def __init__(self, state: dict[str, Any], owner: Tensor, size: int) -> None:
        self.state, self.owner, self.size = state, owner, size
        self.steps = [t.array for t in state.get("old_stps", ())]
        self.changes = [t.array for t in state.get("old_dirs", ())]
        self.inverses = [float(one) for one in state.get("ro", ())]  # 1 / y·s of each pair
        self.scale = float(state.get("H_diag", 1.0))
        self.is_new = "d" not in state
        if not self.is_new:
            self.last = state["d"].array
            self.step = float(state["t"])
            self.grad = state["prev_flat_grad"].array

    def learn(self, grad: Array) -> None:
        """Remember the last move and what it did to the gradient."""
        if self.is_new:
            return
        change, step = grad - self.grad, self.step * self.last
        curvature = float(change @ step)
        if curvature <= LEAST_CURVATURE:
            return
        if len(self.steps) == self.size:
            for kept in (self.steps, self.changes, self.inverses):
                del kept[0]
        self.steps.append(step)
        self.changes.append(change)
        self.inverses.append(1.0 / curvature)
        self.scale = curvature / float(change @ change)

    def direction(self, grad: Array) -> Array:
        """Minus the gradient, times the inverse Hessian that the pairs imply."""
        q = -grad
        pairs = list(zip(self.steps, self.changes, self.inverses, strict=True))
        weights = []
        for step, change, inverse in reversed(pairs):
            weight = float(step @ q) * inverse
            weights.append(weight)
            q -= weight * change
        q *= self.scale
        for (step, change, inverse), weight in zip(pairs, reversed(weights), strict=True):
            q += (weight - float(change @ q) * inverse) * step
        return q

    def move(self, direction: Array, size: float, grad: Array, loss: float) -> None:
        """The next move goes `size` along `direction`; gradient and loss are those from before."""
        self.is_new = False
        self.last, self.step, self.grad, self.loss = direction, size, grad, loss

    def keep(self) -> None:
        tensor = self.owner.companion
        self.state.update(
            d=tensor(self.last), t=self.step,
            old_dirs=[tensor(y) for y in self.changes], old_stps=[tensor(s) for s in self.steps],
            ro=[tensor(np.asarray(r, self.last.dtype)) for r in self.inverses],
            H_diag=tensor(np.asarray(self.scale, self.last.dtype)),
            prev_flat_grad=tensor(self.grad), prev_loss=self.loss,
        )  # fmt: skip
