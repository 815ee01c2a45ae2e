"""The agent: one per node, starts its workers, watches them, and starts them again.

    meet ──► next generation ──► start workers ──► watch ──► all done on all nodes ──► bye
                  ▲                                  │
                  └──── end them, join again ◄───────┘  a worker failed, a node came or went

A failure is reported to the others through the store, with its traceback. A failure that only follows from
another (a lost peer) waits until that one is known, or for as long as it takes to find a node dead. So the
report names the cause, and a node's death costs no restart.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from minitorch_dist.distributed.elastic.agent.job import SIGNALS, Job, environments
from minitorch_dist.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, say
from minitorch_dist.distributed.elastic.multiprocessing.logs import log_folder
from minitorch_dist.distributed.elastic.multiprocessing.warden import Warden
from minitorch_dist.distributed.elastic.multiprocessing.workers import WorkerGroup
from minitorch_dist.distributed.elastic.rendezvous import exceptions, places, state as states
from minitorch_dist.distributed.elastic.rendezvous.membership import JobMembership
from minitorch_dist.distributed.elastic.rendezvous.state import JobNode, JobState
from transports import job as jobs
from transports.clock import SYSTEM, Deadline
from transports.errors import DistError
from transports.stores.store import PrefixStore
from transports.stores.tcp import TCPStore


class SignalException(Exception):
    """The agent was told to stop."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class ElasticAgent:
    def __init__(self, job: Job) -> None:
        self.job = job
        host = job.local_addr or socket.gethostname()
        place = f"node{job.node_rank}" if job.node_rank >= 0 else host
        self.node = JobNode(f"{place}:{os.getpid()}", host, job.workers, job.node_rank)
        self._drawn = self._draw()  # what the workers are told of their job
        self._signals: list[signal.Signals] = []  # that have come
        self.store: TCPStore  # of `_meet`
        self.membership: JobMembership
        self._is_keeper = False

    def _draw(self, id: str = "") -> str:
        name = "" if self.job.run_id == "none" else self.job.run_id
        return jobs.draw(script=self.job.script, name=name, id=id)

    def _of(self) -> jobs.JobCard:
        rules = self.job.rules
        is_fixed = rules.min_nodes == rules.max_nodes
        return jobs.here(self.job.workers * rules.max_nodes * is_fixed, value=self._drawn)

    def run(self) -> None:
        """Return when the job has succeeded. ChildFailedError is the report of what has not,
        SignalException says who stopped it."""
        with ExitStack() as at_end:
            self._handle_signals(at_end)
            folder = at_end.enter_context(log_folder(self.job.log_dir, self.job.run_id))
            warden = Warden(folder if self.job.log_dir is None else None)
            at_end.callback(warden.close)
            self._meet(at_end)
            self._take_part(folder, warden)

    # ------------------------------------------------------------------------------- coming, going

    def _meet(self, at_end: ExitStack) -> None:
        patience = self.job.patience
        try:
            self.store, self._is_keeper = places.meet(
                self.job.place, patience.join_timeout, self._is_told_to_stop, say, self._of().among_agents()
            )
        except exceptions.RendezvousError:
            if self._signals:
                raise self._stopped() from None
            raise
        at_end.callback(self.store.close)
        self._keys = PrefixStore(self.job.namespace(), self.store)
        self._agree()
        self.membership = JobMembership(self._keys, self.node, self.job.rules, patience, say=say)
        at_end.callback(self.membership.close)

    def _agree(self) -> None:
        """The first node has drawn the job's id, and the others take it; RendezvousStateError for a node of another job.

        Two jobs may have been given one name, or none, and one endpoint. Every node of a job has the same script.
        A job of one node has no second one, unless somebody has named it, who may want that for a spare.
        """
        ours = jobs.read(self._drawn)[-1].id
        mine = json.dumps([ours, self.job.script, f"{self._of()}"])
        id, script, text = json.loads(self._keys.compare_set("begun", "", mine))
        is_alone = self.job.rules.max_nodes == 1 and self.job.run_id == "none" and id != ours
        if script != self.job.script or is_alone:
            raise exceptions.RendezvousStateError(
                f"at {self.job.place} another job has begun under the name {self.job.run_id!r}: {jobs.clean(text)}. This is "
                f"{json.loads(mine)[2]}. Two jobs do not meet. Give this one another --rdzv-endpoint (or MASTER_PORT) or "
                "--rdzv-id, or take --standalone. (All nodes of one job run the same script)"
            )
        if id != ours:
            self._drawn = self._draw(id)
        self.store.serve(jobs.here(value=self._drawn))  # workers that open a TCPStore of their own here

    def _handle_signals(self, at_end: ExitStack) -> None:
        def note(number: int, frame: FrameType | None) -> None:
            self._signals.append(signal.Signals(number))

        for name in SIGNALS:
            number = getattr(signal, name)
            if name == "SIGINT" or signal.getsignal(number) is not signal.SIG_IGN:  # nohup, shells
                with suppress(ValueError):  # not in the main thread: who calls us handles them
                    at_end.callback(signal.signal, number, signal.signal(number, note))

    def _is_told_to_stop(self) -> bool:
        return bool(self._signals)

    def _stopped(self) -> SignalException:
        what = self._signals[0]
        return SignalException(f"process {os.getpid()} got signal: {what.name}", what)

    def _stop(self) -> NoReturn:
        """We were told to; the others are not to wait for us."""
        with suppress(DistError):
            self.membership.leave()
        raise self._stopped()

    # ---------------------------------------------------------------------------------- generations

    def _take_part(self, folder: Path, warden: Warden) -> None:
        while (state := self.membership.next(self._is_told_to_stop)) is not None:
            state = self._work(state, folder, warden)
            if state.phase == states.CLOSED:
                return self._finish(state)
        self._stop()

    def _work(self, state: JobState, folder: Path, warden: Warden) -> JobState:
        """One generation, to its end; the state that ended it."""
        address = self.job.place.host
        found = environments(self.job, state, self.node.id, address, self.store.port, self._drawn)
        workers = WorkerGroup(self.job.program, found, state.generation, folder, warden)
        what, patience = signal.SIGTERM, self.job.shutdown_timeout
        try:
            return self._watch(workers, state.generation, len(state.nodes) == 1)
        except SignalException as stop:
            what = stop.sigval
            raise
        finally:
            workers.end(what, patience, lambda: len(self._signals) > 1)

    def _watch(self, workers: WorkerGroup, generation: int, is_alone: bool) -> JobState:
        is_done, has_told = False, False
        patience: Deadline | None = None  # for the cause of what is only a symptom
        while True:
            workers.wait(self.job.monitor_interval)
            if self._signals:
                workers.tell(self._signals[0])  # at once; the store may be slow
                self._stop()
            failures = [] if has_told else workers.failures()
            causes = [failure for failure in failures if not failure.is_symptom()]
            if failures and patience is None:
                patience = SYSTEM.deadline(self.job.patience.until_gone() + 1)
            nothing_to_come = is_alone and not workers.are_running()
            if causes or (patience and failures and (patience.is_over() or nothing_to_come)):
                self._tell(generation, causes or failures, workers)
                has_told = True
            if not is_done and workers.are_done():
                is_done = True
                self.membership.report_success(generation)
            state = self.membership.read_state()
            if state.phase != states.WORKING or state.generation != generation:
                self._explain(state, generation)
                return state

    def _tell(self, generation: int, failures: list[ProcessFailure], workers: WorkerGroup) -> None:
        """All nodes are to know what has happened here."""
        first = min(failures, key=lambda failure: failure.timestamp)
        said = [asdict(failure) for failure in workers.failures()]
        self._keys.set(f"failures/{generation}/{self.node.id}", json.dumps(said))
        self.membership.report_failure(generation, first.in_a_line())

    def _explain(self, state: JobState, generation: int) -> None:
        if state.phase == states.CLOSED or state.generation < generation:
            return
        count = f"{state.restarts} of {state.rules.max_restarts} restarts" if state.restarts else "no restart counted"
        say(f"{state.cause}. All workers start again ({count})")

    def _finish(self, state: JobState) -> None:
        """The job is over: report, and let the others go."""
        failures: dict[int, ProcessFailure] = {}
        with suppress(DistError):
            for node in state.nodes:
                key = f"failures/{state.generation}/{node.id}"
                if self._keys.check([key]):
                    for said in json.loads(self._keys.get(key)):
                        failures[said["rank"]] = ProcessFailure(**said)
            self.membership.say_goodbye(self._is_keeper)
        if not state.succeeded:
            raise self._failure(state, failures)

    def _failure(self, state: JobState, failures: dict[int, ProcessFailure]) -> Exception:
        """The exception that ends an agent whose job has not succeeded."""
        if not failures:
            return exceptions.RendezvousClosedError(f"the job has ended: {state.cause}")
        if self.job.log_dir is None:
            for each in failures.values():
                each.error_file = "<N/A>"  # it goes with us
        note = f"All workers were started again {state.restarts} time(s) (--max-restarts {state.rules.max_restarts})."
        return ChildFailedError(f"{self.job.program}", failures, note if state.restarts else "")
