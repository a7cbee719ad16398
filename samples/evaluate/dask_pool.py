"""Runs jobs on a Dask cluster (extra "dask"), whose workers see the clips under the same paths."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from ...codecs.errors import LocalError
from .job import Job, Outcome, RunFailure
from .run import run_job

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 10


def run_on_dask(jobs: Sequence[Job], *, address: str) -> Generator[tuple[int, Outcome], None, None]:
    """Yield each job's index and outcome as it ends. Closing the iterator cancels the rest.

    Raises LocalError at once where the extra is missing or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise LocalError("--dask needs the dask extra: codecpilot[dask]") from error
    try:
        _check_address(address)
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise LocalError(f"no Dask scheduler answers at {address}: {error}") from error
    return _outcomes(client, jobs)


def _check_address(address: str) -> None:
    """Raises ValueError for what is none: a Client of it would wait for ever as Python exits."""
    from distributed.comm import get_address_host_port, normalize_address

    if not address.startswith("inproc:"):  # which has no port
        get_address_host_port(normalize_address(address), strict=True)


def _outcomes(client: Client, jobs: Sequence[Job]) -> Generator[tuple[int, Outcome], None, None]:
    from distributed import as_completed

    with client:
        futures = {client.submit(run_job, job, pure=False): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures, loop=client.loop):
                yield futures[future], _outcome(future)
        finally:
            client.cancel(list(futures))


def _outcome(future: Future) -> Outcome:
    if future.status == "finished":
        outcome: Outcome = future.result()
        return outcome
    if future.status == "error":
        error = future.exception()
        return RunFailure(reason=f"{type(error).__name__}: {error}")
    return RunFailure(reason="the scheduler gave it up")
