"""Peers whose runs are handed in by their own client: Celery, DBOS, Prefect.

Each is filled first, while nobody works, and then drained, as ours is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench.peers.contender import QUEUE, Contender, Figure, Measure
from bench.peers.installs import Unavailable, python_of
from bench.peers.processes import Started, cpu_seconds, free_port, started
from bench.server import folder
from mainspring.store.embedded import EmbeddedServer

CELERY, DBOS, PREFECT = "celery[redis]==5.7.0", "dbos==3.3.0", "prefect==3.8.8"
# Its server does not start with a newer one.
_PREFECT_WITH: Final = "fastapi==0.150.0"
WARM: Final = 20
_INSIDE: Final = Path(__file__).parent / "inside"
_REDIS_KEPT: Final = {
    "as shipped": ["--appendonly", "no"],
    "fsync always": ["--appendonly", "yes", "--appendfsync", "always"],
}


def _measure(client: Started, roots: list[int]) -> Measure:
    def measure(steps: int, runs: int) -> Figure:
        client.ask(do="fill", steps=steps, runs=runs)
        spent = cpu_seconds(roots)
        output = client.ask(do="drain")
        spent = cpu_seconds(roots) - spent
        if output["good"] != runs:
            raise Unavailable(f"{output['good']} of {runs} runs succeeded")
        return Figure(runs, output["seconds"], spent)

    measure(5, WARM)
    return measure


@contextmanager
def _celery(kept: str) -> Iterator[Measure]:
    python = python_of("celery", CELERY)
    with folder() as made, contextlib.ExitStack() as stack:
        port = free_port()
        words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(made)]
        redis = stack.enter_context(started([*words, *_REDIS_KEPT[kept]], made, {}, spoken=False))
        redis.wait_for_port(port)
        given = {"BENCH_REDIS": f"redis://127.0.0.1:{port}/0", "PYTHONPATH": str(_INSIDE)}
        command: list[str | Path] = [
            python,
            "-m",
            "celery",
            "-A",
            "celery_chains",
            "worker",
            "--concurrency",
            "2",
            "--pool",
            "prefork",
            "--without-gossip",
            "--without-mingle",
            "--loglevel",
            "ERROR",
        ]
        worker = stack.enter_context(started(command, made, given, spoken=False))
        client = stack.enter_context(
            started([python, _INSIDE / "celery_chains.py"], made, given, spoken=True)
        )
        client.hear()
        # Only what works is counted; the client waits.
        yield _measure(client, [redis.pid, worker.pid])


@contextmanager
def _dbos(kind: str) -> Iterator[Measure]:
    python = python_of("dbos", DBOS)
    with folder() as made:
        server = EmbeddedServer(made / "home")
        server.start()
        try:
            given = {"BENCH_POSTGRES": server.dsn, "BENCH_KIND": kind}
            with started([python, _INSIDE / "dbos_steps.py"], made, given, spoken=True) as worker:
                worker.hear()
                assert server.pid is not None
                yield _measure(worker, [worker.pid, server.pid])
        finally:
            server.stop()


@contextmanager
def _prefect(database: str) -> Iterator[Measure]:
    python = python_of("prefect", PREFECT, _PREFECT_WITH)
    with folder() as made, contextlib.ExitStack() as stack:
        port, roots = free_port(), []
        given = {
            "PREFECT_HOME": str(made / "prefect"),
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
            "PREFECT_LOGGING_LEVEL": "ERROR",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
        }
        if database == "Postgres":
            postgres = EmbeddedServer(made / "home")
            stack.callback(postgres.stop)
            postgres.start()
            assert postgres.pid is not None
            roots.append(postgres.pid)
            url = postgres.dsn.replace("postgresql://", "postgresql+asyncpg://")
            given["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = url
        words = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        server = stack.enter_context(
            started([python, *words, "--no-ui"], made, given, spoken=False)
        )
        server.wait_for_port(port)
        worker = stack.enter_context(
            started([python, _INSIDE / "prefect_flows.py"], made, given, spoken=True)
        )
        worker.hear()
        yield _measure(worker, [server.pid, worker.pid, *roots])


def contenders() -> list[Contender]:
    """Everyone with a queue or a client of their own."""
    chains, results = {1: 2_000, 5: 600}, "the result of each task, a day"
    states = "flow run, task runs, states"
    dbos, workflow = {1: 500, 5: 250}, "workflow, input, steps"
    return [
        Contender(
            "Celery",
            QUEUE,
            "no: in memory, saved now and then",
            results,
            chains,
            partial(_celery, "as shipped"),
            CELERY,
        ),
        Contender(
            "Celery, AOF",
            QUEUE,
            "yes, each message",
            results,
            chains,
            partial(_celery, "fsync always"),
            CELERY,
        ),
        Contender("DBOS", QUEUE, "yes, each step", workflow, dbos, partial(_dbos, "sync"), DBOS),
        Contender(
            "DBOS, async", QUEUE, "yes, each step", workflow, dbos, partial(_dbos, "async"), DBOS
        ),
        Contender(
            "Prefect",
            QUEUE,
            "states only",
            states,
            {1: 40, 5: 20},
            partial(_prefect, "SQLite"),
            PREFECT,
        ),
        Contender(
            "Prefect, Postgres",
            QUEUE,
            "states only",
            states,
            {1: 40, 5: 20},
            partial(_prefect, "Postgres"),
            PREFECT,
        ),
    ]
