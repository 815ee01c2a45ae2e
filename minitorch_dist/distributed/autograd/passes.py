"""Backward over several workers.

torch's FAST mode: every message of the context is taken to lead to the loss. So each worker can count,
by itself, how many gradients a node waits for: the edges from the roots and from all its send nodes.

    root worker    count; run what is ready;   a recv node? ──(message, gradients)──► its worker
    other worker   (first time: count)         the send node has its gradients: run what is ready …

It is over when nobody has anything left to run and all gradients have arrived. That is found out by
the workers' debts (Dijkstra and Scholten, Termination detection for diffusing computations, IPL 1980,
doi:10.1016/0020-0190(80)90021-6): who is drawn in by a message answers that one only when all he sent
himself has been answered; all other messages are answered at once.

A message that did not lead to the loss leaves its send node without gradients. torch then waits for
ever; here the root asks everybody, and raises an error that names the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any

import numpy as np

from minitorch_dist.distributed.autograd.contexts import (
    Context,
    Contexts,
    RecvRpcBackward,
    SendRpcBackward,
    contexts_of,
)
from minitorch_dist.distributed.rpc import operations
from minitorch_dist.distributed.rpc.agent import Agent, current
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.serving import Later
from minitorch_dist.tensors import devices, engine, grad_mode, ledger, ready_queue
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.graph import edge_of
from minitorch_dist.tensors.nodes import AccumulateGrad, Edge, Gradient, Node
from minitorch_dist.tensors.quiet import quiet
from minitorch_dist.tensors.ready_queue import Task


class Pass:
    """One backward pass, as one worker sees it."""

    def __init__(
        self,
        ours: Contexts,
        context: Context,
        number: int,
        retain_graph: bool,
        roots: Sequence[Edge],
    ) -> None:
        self._ours, self._context, self._number = ours, context, number
        self._retain = retain_graph
        self._lock = Lock()
        self._ready: list[Task] = []  # a heap
        self._is_running = False
        self._debts = 0  # messages of ours that are not answered
        self._engaged: RpcFuture[Any] | None = None  # what we answer when all is done
        self.reached: set[int] = set()  # messages whose send node has its gradients
        sends: list[Edge] = [(node, 0) for node in list(context.sends.values())]
        self._sends = {node.message for node, _ in sends if isinstance(node, SendRpcBackward)}
        self._tasks = ready_queue.count_edges([*roots, *sends])
        self._open = len(self._tasks)  # how many have not run
        self._local = engine.Pass(self._tasks, None, kept=context.grads)  # what hooks may know

    # ------------------------------------------------------------------------------- being drawn in

    def engage(self) -> RpcFuture[Any]:
        """Gradients are about to arrive: the future of the end of what they cause. A message that
        finds us at work is answered at once. To be followed by `start` or `gradients`."""
        with self._lock:
            self._debts += 1  # what arrives and is not here yet
            future: RpcFuture[Any] = RpcFuture(
                self._ours.agent, lambda: "the end of a backward pass"
            )
            if self._engaged is None:
                self._engaged = future
                return future
        future.set_result(None)
        return future

    def arrive(self, arriving: Sequence[tuple[Task, int, Gradient]]) -> None:
        """Gradients for nodes of ours. Runs what becomes ready, unless another thread does."""
        with self._lock:
            for task, output, grad in arriving:
                if task.arrive(output, grad, False):
                    ready_queue.push(self._ready, task)
            if self._is_running:
                return
            self._is_running = True
        try:
            mode, outer = grad_mode.mode.set(grad_mode.OFF), engine.current.set(self._local)
            try:
                quiet(self._walk)
            finally:
                grad_mode.mode.reset(mode)
                engine.current.reset(outer)
        except Exception as error:
            me = self._ours.agent.me
            error.add_note(f"(Error on Node {me.id}, {me.name!r})")
            self._fail(error)

    def start(self, roots: Sequence[tuple[Edge, Any]]) -> None:
        self.arrive([(self._tasks[edge[0]], edge[1], grad) for edge, grad in roots])
        self._settled(None)

    def gradients(self, message: int, grads: Sequence[Gradient]) -> None:
        """What has come back for a message that went out from here."""
        node = self._context.sends[message]
        task = self._tasks[node]
        with self._lock:
            self.reached.add(message)
            task.grads = list(grads)
        self.arrive([(task, 0, None)])
        self._settled(None)

    # -------------------------------------------------------------------------------------- walking

    def _walk(self) -> None:
        while True:
            task: Task | None = None
            last: list[Callable[[], None]] = []
            with self._lock:
                if self._context.error is None and self._ready:
                    task = ready_queue.pop(self._ready)
                    self._open -= 1
                elif self._context.error is None and not self._open:  # our part of it is complete
                    last, self._local.callbacks = self._local.callbacks, []
                if task is None and not last:
                    self._is_running = False
                    return
            for callback in last:
                callback()
            if task is None:
                continue
            node, grads = task.node, task.grads
            del task.grads  # what has been used is freed before the next node allocates
            if isinstance(node, AccumulateGrad):
                self._collect(node, grads, task.owned)
            elif isinstance(node, RecvRpcBackward):
                self._send_back(node, engine.hooked(node, grads, task.owned))
            else:
                self._hand_on(node, self._run(node, grads, task.owned))

    def _run(self, node: Node, grads: list[Gradient], owned: list[bool]) -> Sequence[Gradient]:
        try:
            if node.hooks is None:
                results = node.run(grads)
            else:
                results = engine.run_hooked(node, grads, owned, node.run)
        except RuntimeError as error:
            self._explain(node, error)
            raise
        if node.device is not devices.CPU:
            ledger.track_all(results, node.device, "gradient")
        if not self._retain and not isinstance(node, SendRpcBackward):
            node.release()
        return results

    def _hand_on(self, node: Node, results: Sequence[Gradient]) -> None:
        """To those whose results the node read."""
        owns = node.owns and node.hooks is None
        with self._lock:
            for edge, grad in zip(node.edges, results, strict=True):
                if edge is not None:
                    child = self._tasks[edge[0]]
                    if child.arrive(edge[1], grad, owns):
                        ready_queue.push(self._ready, child)

    def _explain(self, node: Node, error: RuntimeError) -> None:
        """If what the node reads was written to by an optimizer's step, say whose."""
        steps = self._ours.agent.extras.get("steps", {})
        for storage, version, _ in node.reads or ():
            if storage.version != version and id(storage) in steps:
                error.add_note(
                    f"({steps[id(storage)]}, between the forward and the backward pass of context "
                    f"{self._context.id}. Give every trainer parameters of its own, or let forward, "
                    "backward and step of one trainer be over before the next one's begin)"
                )

    def _collect(self, node: AccumulateGrad, grads: list[Gradient], owned: list[bool]) -> None:
        """A leaf's gradient stays in the context; `.grad` is left alone."""
        grads = engine.hooked(node, grads, owned)
        leaf, grad = node.variable, grads[0]
        if leaf is not None and grad is not None:
            hooks = node.hooks
            self._context.add(leaf, grad, owned[0] and (hooks is None or not hooks.see()))
            for hook in () if hooks is None else list(hooks.kept.values()):
                hook(leaf)

    def _send_back(self, node: RecvRpcBackward, grads: list[Gradient]) -> None:
        """The gradients of what came with a message go back to where it set out."""
        with self._lock:
            self._debts += 1
        agent = self._ours.agent
        what = (self._context.id, self._number, self._retain, node.message, list(grads))
        try:
            agent.call(
                agent.worker(node.src), operations.BACKWARD, lambda writer: writer.value(what),
                "backward", 0.0, settled=self._settled,
            )  # fmt: skip
        except Exception as error:
            self._settled(error)

    def _settled(self, error: Exception | None) -> None:
        with self._lock:
            self._debts -= 1
        if error is not None:
            self._fail(error)
        self._maybe_over()

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._is_running = False
        self._ours.fail(self._context, error)

    def _maybe_over(self) -> None:
        """Answer who drew us in, once there is nothing left to do and nobody owes us an answer."""
        with self._lock:
            failed = self._context.error
            if failed is None and (self._is_running or self._ready or self._debts):
                return
            future, self._engaged = self._engaged, None
        if future is not None:
            if failed is None:
                future.set_result(None)
            else:
                future.set_exception(failed)

    @property
    def is_on(self) -> bool:
        """Whether this worker has work to do for it, or waits for others that do."""
        return self._engaged is not None

    def unused(self) -> list[str]:
        """Messages that went out from here, and whose gradients never came."""
        return [self._context.sends[message].what for message in sorted(self._sends - self.reached)]

    def __repr__(self) -> str:
        return f"<Pass {self._number} of {self._context!r}, {len(self._ready)} nodes are ready>"


# --------------------------------------------------------------------------------------- torch's face


def backward(context_id: int, roots: Sequence[Any], retain_graph: bool = False) -> None:
    """Send the gradients of scalar roots back, over all workers that took part in the context."""
    agent = current()
    ours = contexts_of(agent)
    context = ours.find(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    starts = [(_edge(root), np.ones_like(root.array)) for root in roots]
    context.check()
    number = ours.new_number()
    this = context.passes[number] = Pass(
        ours, context, number, retain_graph, [edge for edge, _ in starts]
    )
    over = this.engage()
    this.start(starts)
    try:
        over.wait()
        _demand_all_used(agent, context, number, this)
    except Exception as error:
        ours.fail(context, error)
        raise


def _edge(root: Any) -> Edge:
    if not isinstance(root, TensorBase):
        raise TypeError(f"roots are tensors, but got {type(root).__name__}")
    if not root.requires_grad:
        raise RuntimeError("requires_grad not set on root")
    if root.array.size != 1:
        raise RuntimeError(
            f"the root of shape {list(root.array.shape)} is not a scalar, all roots need to be scalar"
        )
    edge = edge_of(root)
    assert edge is not None, "it requires grad"
    return edge


def _demand_all_used(agent: Agent, context: Context, number: int, this: Pass) -> None:
    """The pass is over; if some messages never got gradients, say which."""
    unused = [(agent.me.name, what) for what in this.unused()]
    asked: dict[int, Any] = {}
    seen, new = {agent.me.id}, set(context.workers)
    while new - seen:
        for worker in sorted(new - seen):
            seen.add(worker)
            asked[worker] = agent.call(
                agent.worker(worker), operations.UNUSED,
                lambda writer: writer.value((context.id, number)), "backward", is_system=True,
            )  # fmt: skip
        for worker in list(asked):
            found, others = asked.pop(worker).wait()
            unused += [(agent.worker(worker).name, what) for what in found]
            new |= set(others)
    if unused:
        lines = "\n".join(f"  on {name!r}: {what}" for name, what in unused)
        raise RuntimeError(
            f"the backward pass of context {context.id} can never finish: every message with tensors "
            "that require grad has to lead to the roots, and these got no gradients back:\n"
            f"{lines}\nUse what these calls returned in the loss, or make them under no_grad() or "
            "outside of the context"
        )


def get_gradients(context_id: int) -> dict[Any, Any]:
    """The gradients that this worker's tensors have in a context, by tensor."""
    context = contexts_of(current()).find(context_id)
    context.check()
    with context.lock:
        return dict(context.grads)


# ------------------------------------------------------------------------------------ on the others


def _backward(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    id, number, retain_graph, message, grads = said

    def run() -> Any:
        ours = contexts_of(agent)
        context = ours.find(id)
        context.check()
        if message not in context.sends:
            raise RuntimeError(
                f"no message {message} of context {id} went out from {agent.me.name!r}"
            )
        with context.lock:
            this = context.passes.get(number)
            if this is None:
                this = context.passes[number] = Pass(ours, context, number, retain_graph, ())
        over = this.engage()
        this.gradients(message, grads)
        return Later(over)

    return "backward", run


def _unused(agent: Agent, src: int, said: Any) -> tuple[list[str], list[int]]:
    id, number = said
    context = contexts_of(agent).known.get(id)
    if context is None:
        return [], []
    this = context.passes.get(number)
    if this is None:  # no gradient ever came here
        found = [send.what for send in list(context.sends.values())]
    else:
        found = this.unused()
    return found, sorted(context.workers)


operations.let_run(operations.BACKWARD, _backward)
operations.let_handle(operations.UNUSED, _unused)
