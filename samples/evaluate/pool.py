"""Runs jobs in worker processes; one that dies fails its own job alone.

concurrent.futures would give up every job when a worker dies; here each worker has a pipe of its own
and is replaced.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any

import cv2

from .job import RunFailure
from .run import run_job

END_WAIT_S = 3.0
Progress = Callable[[int, float], None]
"""Told a job's index and the part of it that is done."""
Work = Callable[[Any, Callable[[float], None]], Any]
"""Does a job, telling the part of it that is done; both travel between processes."""


def run_in_processes(
    jobs: Sequence[Any], *, workers: int, progress: Progress, work: Work = run_job
) -> Generator[tuple[int, Any], None, None]:
    """Yield each job's index and outcome as it ends: what work returned, or a RunFailure where its
    worker died. Closing the iterator ends the workers.

    work is called in the workers, so it must be importable there.
    """
    waiting = list(enumerate(jobs))[::-1]
    pool: list[_Worker] = []
    try:
        for _ in range(min(workers, len(jobs))):
            pool.append(_Worker(work))
            pool[-1].give(*waiting.pop())
        while busy := [worker for worker in pool if worker.index is not None]:
            ready = wait([worker.connection for worker in busy])
            for worker in [each for each in busy if each.connection in ready]:
                index, message = worker.receive()
                if isinstance(message, float):
                    progress(index, message)
                    continue
                yield index, message
                if not worker.is_alive():
                    pool.remove(worker)
                    if waiting:
                        worker = _Worker(work)
                        pool.append(worker)
                if waiting:
                    worker.give(*waiting.pop())
    finally:
        for worker in pool:
            worker.end()


class _Worker:
    """A process and this side's end of its pipe. index is the job that it has."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.index: int | None = None
        self._died = False
        self._process = context.Process(target=_work, args=(other, work), daemon=True)
        with _sigint_ignored():
            self._process.start()
        other.close()

    def give(self, index: int, job: object) -> None:
        """Begin a job."""
        self.index = index
        try:
            self.connection.send(job)
        except OSError:
            self._died = True

    def receive(self) -> tuple[int, Any]:
        """The next report: the part that is done, or the outcome."""
        assert self.index is not None
        index = self.index
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(END_WAIT_S)
            self._died = True
            message = RunFailure(reason=_how_it_died(self._process.exitcode))
        if not isinstance(message, float):
            self.index = None
        return index, message

    def is_alive(self) -> bool:
        """Whether it takes another job."""
        return not self._died

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.connection.close()
        self._process.terminate()
        self._process.join(END_WAIT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _work(connection: Connection, work: Work) -> None:
    """The worker's life: jobs come in until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An exception, so that temporary folders are removed.
    signal.signal(signal.SIGTERM, _exit)
    # One thread a worker: OpenCV's own would fight over the CPUs with the other workers.
    cv2.setNumThreads(1)
    try:
        while True:
            connection.send(work(connection.recv(), connection.send))
    except (EOFError, OSError):
        return


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _how_it_died(code: int | None) -> str:
    if code is None or code >= 0:
        return f"the worker process ended with exit code {code}"
    try:
        return f"the worker process was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the worker process was killed by signal {-code}"


@contextmanager
def _sigint_ignored() -> Iterator[None]:
    """Ctrl-C reaches every process of the terminal; a worker must not trip over it while it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
