"""For fleets that start every worker with Celery's own command.

``celery -A mainspring.celery_app:app worker -Q automations_fast`` is the same worker as
``mainspring worker --queues fast``. Celery has the main thread and the signals, so our event loop
runs in a thread: stopping Celery stops the claims at once, and Celery waits until the current steps
have had their time.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import threading
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from mainspring.app import build_worker, open_application
from mainspring.contracts.errors import Invalid, Problem
from mainspring.runs.transport.broker import QUEUES, broker_of
from mainspring.runs.transport.celery_listener import CeleryHintListener
from mainspring.runs.transport.consumer import celery_state
from mainspring.settings import Settings, read_settings
from mainspring.store.wakeups import RUNS_CHANNEL, WakeupListener
from mainspring.surfaces.cli.gc_tuning import tune_gc

if TYPE_CHECKING:
    from mainspring.runs.worker import Worker

_HAND_BACK_SECONDS = 10.0

log = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    """``app`` is created on first access: importing this module does nothing."""
    if name == "app":
        return _app()
    raise AttributeError(name)


@cache
def _app() -> Any:
    settings = replace(read_settings(), transport="celery")
    broker = broker_of(settings)
    assert broker is not None
    tenant = CeleryHostedWorker(settings)
    app = broker.listening(tenant.hint, tenant.look, lambda: None)
    signals = importlib.import_module("celery.signals")
    signals.worker_ready.connect(tenant.start_worker, weak=False)
    signals.worker_shutting_down.connect(tenant.stop, weak=False)
    signals.worker_shutdown.connect(tenant.stop_worker, weak=False)
    return app


class CeleryHostedWorker:
    """Our worker inside a process that belongs to Celery."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._listener: CeleryHintListener | None = None
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    # --- in Celery's threads

    def hint(self, *_: object, **__: object) -> None:
        if self._listener is not None:
            self._listener.hint()

    def look(self) -> None:
        if self._listener is not None:
            self._listener.look()

    def start_worker(self, sender: Any = None, **_: object) -> None:
        """Start once Celery consumes messages, with its queues."""
        if self._thread is not None:
            return
        known = {theirs: ours for ours, theirs in QUEUES.items()}
        queues = tuple(known[name] for name in sender.app.amqp.queues.consume_from if name in known)
        self._thread = threading.Thread(target=self._live, args=(queues,), name="mainspring")
        self._thread.start()

    def stop(self, **_: object) -> None:
        """In a signal handler: sets a flag and returns."""
        self._stopped.set()
        loop, worker = self._loop, self._worker
        if loop is not None and worker is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(worker.stop)

    def stop_worker(self, **_: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(self._settings.stop_seconds + _HAND_BACK_SECONDS)

    # --- in our thread

    def _live(self, queues: tuple[str, ...]) -> None:
        try:
            if not queues:
                raise Invalid(
                    "None of the queues is one of ours.",
                    code="unknown_queue",
                    suggestion=f"Name some of them with -Q: {', '.join(QUEUES.values())}.",
                )
            asyncio.run(self._work(replace(self._settings, queues=queues)))
        except Problem as problem:
            log.error("%s %s", problem.detail, problem.suggestion or "")
        except Exception:
            log.exception("The worker ends by a mistake of ours.")
        # Without our worker, Celery would consume messages for nothing.
        celery_state().should_stop = 0 if self._stopped.is_set() else 1

    async def _work(self, settings: Settings) -> None:
        async with open_application(settings, attach=True) as application:
            await application.vault.check_readable()
            self._listener = CeleryHintListener(
                WakeupListener(application.database, RUNS_CHANNEL), self
            )
            self._worker = build_worker(application, ear=self._listener)
            self._loop = asyncio.get_running_loop()
            if self._stopped.is_set():
                return
            tune_gc()
            log.info("Working on %s with %d slots.", ", ".join(settings.queues), settings.slots)
            await self._worker.run()

    # --- as our message source: the consumer is Celery's, and closes by itself

    def open(self, ear: CeleryHintListener) -> None: ...

    def close(self) -> None: ...

    async def closed(self) -> None: ...
