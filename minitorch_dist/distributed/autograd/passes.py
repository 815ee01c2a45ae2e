"""Backward over several workers.

In torch's FAST mode every message of the context is taken to lead to the loss. So each worker can count by
itself how many gradients a node waits for: the edges from the roots and from all its send nodes.

    root worker    count; run what is ready;   a recv node? ──(message, gradients)──► its worker
    other worker   (first time: count)         the send node has its gradients: run what is ready …

The pass is over when no worker has anything left to run and all gradients have arrived. Debts find this out
(Dijkstra and Scholten, Termination detection for diffusing computations, IPL 1980,
doi:10.1016/0020-0190(80)90021-6). A worker that is idle when a message comes answers it only when all its own
messages have been answered. It answers all other messages at once.

A message that did not lead to the loss leaves its send node without gradients. torch then waits for ever. Here
the answers say which workers have no such send node. The root asks the others, and raises an error that names
the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any

from minitorch_dist.distributed.autograd.contexts import (
    Context,
    Contexts,
    RecvRpcBackward,
    SendRpcBackward,
    contexts_of,
)
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.call import RpcFuture
from minitorch_dist.distributed.rpc.serve import Later
from minitorch_dist.tensors.autograd import passes as tensor_passes
from minitorch_dist.tensors.core import engine, grad_mode
from minitorch_dist.tensors.core.engine import NodeTask
from minitorch_dist.tensors.core.graph import AccumulateGrad, Edge, Gradient, Node
from minitorch_dist.tensors.core.without_warnings import without_warnings


class DistributedPass:
    """One backward pass, as one worker sees it."""

    def __init__(
        self, ours: Contexts, context: Context, number: int, retain_graph: bool, roots: Sequence[Edge]
    ) -> None:
        self._ours, self._context, self._number = ours, context, number
        self._retain = retain_graph
        self._lock = Lock()
        self._ready: list[NodeTask] = []  # a heap
        self._is_running = False
        self._debts = 0  # messages of ours that are not answered
        self._engaged: RpcFuture[Any] | None = None  # our answer, once all is done
        self.complete: set[int] = set()  # workers all of whose messages got their gradients
        self.seen: set[int] = set()  # workers of which answers told us
        self.reached: set[int] = set()  # messages whose send node has its gradients
        sends: list[Edge] = [(node, 0) for node in list(context.sends.values())]
        self._sends = {node.message for node, _ in sends if isinstance(node, SendRpcBackward)}
        self._tasks = engine.count_edges([*roots, *sends])
        self._open = len(self._tasks)  # how many have not run
        self._local = engine.BackwardPass(self._tasks, None, kept=context.grads)  # which hooks may know

    # ------------------------------------------------------------------------------- being drawn in

    def engage(self) -> RpcFuture[Any]:
        """Gradients are about to arrive. The result is the future of the end of all that they cause.

        It is done at once if the worker is at work already. `start` or `gradients` has to follow.
        """
        with self._lock:
            self._debts += 1  # gradients that will arrive and are not here yet
            future: RpcFuture[Any] = RpcFuture(self._ours.agent.pool, lambda: "the end of a backward pass")
            if self._engaged is None:
                self._engaged = future
                return future
        future.set_result(None)
        return future

    def arrive(self, arriving: Sequence[tuple[NodeTask, int, Gradient]]) -> None:
        """Take gradients for nodes of ours, and run the nodes that become ready, if no other thread does."""
        with self._lock:
            for task, output, grad in arriving:
                if task.arrive(output, grad, False):
                    heappush(self._ready, task)
            if self._is_running:
                return
            self._is_running = True
        try:
            mode, outer = grad_mode.mode.set(grad_mode.OFF), engine.current.set(self._local)
            try:
                without_warnings(self._walk)
            finally:
                grad_mode.mode.reset(mode)
                engine.current.reset(outer)
        except Exception as error:
            me = self._ours.agent.me
            error.add_note(f"(Error on Node {me.id}, {me.name!r})")
            self._fail(error)

    def start(self, roots: Sequence[tuple[Edge, Any]]) -> None:
        self.arrive([(self._tasks[edge[0]], edge[1], grad) for edge, grad in roots])
        self._settled(None, None)

    def gradients(self, message: int, grads: Sequence[Gradient]) -> None:
        """Take the gradients that have come back for a message of ours."""
        node = self._context.sends[message]
        task = self._tasks[node]
        with self._lock:
            self.reached.add(message)
            task.grads = list(grads)
        self.arrive([(task, 0, None)])
        self._settled(None, None)

    # -------------------------------------------------------------------------------------- walking

    def _walk(self) -> None:
        while True:
            task: NodeTask | None = None
            last: list[Callable[[], None]] = []
            with self._lock:
                if self._context.error is None and self._ready:
                    task = heappop(self._ready)
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
            del task.grads  # used gradients are freed before the next node allocates
            if isinstance(node, AccumulateGrad):
                self._collect(node, grads, task.owned)
            elif isinstance(node, RecvRpcBackward):
                self._send_back(node, tensor_passes.hooked(node, grads, task.owned))
            else:
                keeps = self._retain or isinstance(node, SendRpcBackward)
                self._hand_on(node, *tensor_passes.attend(node, grads, task.owned, None, keeps))

    def _hand_on(self, node: Node, results: Sequence[Gradient], owns: bool) -> None:
        """Hand gradients on to the nodes whose results this node read."""
        with self._lock:
            for edge, grad in zip(node.edges, results, strict=True):
                if edge is not None:
                    child = self._tasks[edge[0]]
                    if child.arrive(edge[1], grad, owns):
                        heappush(self._ready, child)

    def _collect(self, node: AccumulateGrad, grads: list[Gradient], owned: list[bool]) -> None:
        """Keep a leaf's gradient in the context; `.grad` is left alone."""
        grads = tensor_passes.hooked(node, grads, owned)
        leaf, grad = node.leaf(), grads[0]
        if leaf is not None and grad is not None:
            hooks = node.hooks
            is_seen = hooks is not None and tensor_passes.are_handed_gradients(hooks)
            self._context.add(leaf, grad, owned[0] and not is_seen)
            for hook in () if hooks is None else list(hooks.kept.values()):
                hook(leaf)

    def _send_back(self, node: RecvRpcBackward, grads: list[Gradient]) -> None:
        """Send the gradients of tensors that came with a message back to its sender."""
        with self._lock:
            self._debts += 1
        agent = self._ours.agent
        what = (self._context.id, self._number, self._retain, node.message, list(grads))
        try:
            sender = agent.worker(node.src)
            agent.call(sender, serve.BACKWARD, what, "backward", 0.0, self._settled)
        except Exception as error:
            self._settled(None, error)

    def _settled(self, report: Any, error: Exception | None) -> None:
        """A message of ours is answered, or its gradients have all been taken in here."""
        with self._lock:
            self._debts -= 1
            match report:
                case (list(complete), list(seen)) if all(type(id) is int for id in complete + seen):
                    self.complete.update(complete)
                    self.seen.update(seen)
        if error is not None:
            self._fail(error)
        self._maybe_over()

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._is_running = False
        self._ours.fail(self._context, error)

    def _maybe_over(self) -> None:
        """Answer the message that began our part, once nothing is left to do and no answer is owed to us."""
        with self._lock:
            failed = self._context.error
            if failed is None and (self._is_running or self._ready or self._debts):
                return
            future, self._engaged = self._engaged, None
        if future is not None:
            if failed is None:
                future.set_result(self._report())
            else:
                future.set_exception(failed)

    def _report(self) -> tuple[list[int], list[int]]:
        """Our answer: the workers that are complete, and those that take part, as far as we know."""
        with self._lock:
            self.seen |= self._context.workers
            if self._sends <= self.reached:
                self.complete.add(self._ours.me)
            return sorted(self.complete), sorted(self.seen)

    def unused(self) -> list[str]:
        """The messages that went out from here and got no gradients back."""
        return [self._context.sends[message].what for message in sorted(self._sends - self.reached)]


# ------------------------------------------------------------------------- what other workers ask


def _backward(agent: RpcAgent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    id, number, retain_graph, message, grads = said

    def run() -> Later:
        ours = contexts_of(agent)
        context = ours.find(id)
        context.check()
        if message not in context.sends:
            raise RuntimeError(f"no message {message} of context {id} went out from {agent.me.name!r}")
        with context.lock:
            this = context.passes.get(number)
            if this is None:
                this = context.passes[number] = DistributedPass(ours, context, number, retain_graph, ())
        over = this.engage()
        this.gradients(message, grads)
        return Later(over)

    return "backward", run


def _unused(agent: RpcAgent, src: int, said: Any) -> tuple[list[str], list[int]]:
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


serve.RUNNERS[serve.BACKWARD] = _backward
serve.HANDLERS[serve.UNUSED] = _unused
