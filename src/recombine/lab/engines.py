"""The local engine: runs the independent, resumable runs of a plan on this machine.

On a GPU they share the device as fleets of replicas. On a CPU a fleet is processes of one thread each, which two
measured cores do 1.3 times faster than one process of two threads; a single run takes all the cores.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import Queue
from pathlib import Path

from recombine.errors import RunFailed, UserError
from recombine.lab.conduct import Progress, Report, conduct
from recombine.lab.config import RunConfig
from recombine.lab.store import Store
from recombine.training.execution import Execution, resolve_device

FLEET = 16  # replicas that share a GPU; the gain is there from 8 on (benchmarks/README.md)


def run_local(
    configs: Iterable[RunConfig],
    store: Store,
    device: str,
    report: Report,
    plain: bool = False,
    workers: int | None = None,
) -> list[str]:
    """Run what is not done yet; the lines of those runs that failed, the others having been finished."""
    device = resolve_device(device)
    store.prepare()
    pending = [c for c in {c.address: c for c in configs}.values() if not store.run(c.address).done]
    if not pending:
        return []
    choose = Execution.plain if plain else Execution.fastest
    if device.startswith("cuda"):
        fleets = [pending[i : i + FLEET] for i in range(0, len(pending), FLEET)]
        return [line for fleet in fleets for line in _attempt(fleet, store, choose(device), report)]
    cores = os.cpu_count() or 1
    workers = min(workers or cores, len(pending))
    if workers == 1:
        return [line for c in pending for line in _attempt([c], store, choose(device, threads=cores), report)]
    return _run_processes(pending, store, choose(device), report, workers)


def _attempt(configs: Sequence[RunConfig], store: Store, execution: Execution, report: Report) -> list[str]:
    try:
        conduct(configs, store, execution, report)
    except RunFailed as failure:
        return [str(failure)]
    return []


def _run_processes(
    pending: Sequence[RunConfig], store: Store, execution: Execution, report: Report, workers: int
) -> list[str]:
    context = multiprocessing.get_context("spawn")
    news: Queue[Progress | None] = context.Queue()
    listener = threading.Thread(target=_relay, args=(news, report), daemon=True)
    listener.start()
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    before = {name: os.environ.get(name) for name in threads}
    os.environ.update(threads)  # read by the children when they import torch
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(news, os.getpid()))
    failures = []
    try:
        jobs = [pool.submit(_work, c.model_dump_json(), str(store.root), execution) for c in pending]
        for job in jobs:
            try:
                job.result()
            except BrokenProcessPool:
                raise RunFailed("a worker process was killed: give the same command again, it resumes") from None
            except UserError as failure:
                failures.append(str(failure))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        news.put(None)
        listener.join(timeout=5)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return failures


_news: "Queue[Progress | None] | None" = None  # of this worker process; set once when it starts


def _begin_worker(news: "Queue[Progress | None]", parent: int) -> None:
    global _news
    _news = news
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A worker whose parent was killed must not train on unseen: the next command would wait for it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(config: str, root: str, execution: Execution) -> None:
    assert _news is not None
    conduct([RunConfig.model_validate_json(config)], Store(Path(root)), execution, _news.put)


def _relay(news: "Queue[Progress | None]", report: Report) -> None:
    while (progress := news.get()) is not None:
        report(progress)
