"""The broker of the Celery transport: its settings and the Celery application.

Celery is an optional extra, so it is only imported when it is used. Nothing it stores matters: no
results, no retries, and messages expire after a minute.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mainspring.contracts.errors import Invalid
from mainspring.contracts.optional_extras import format_install_hint
from mainspring.runs.transport.taking import build_consumer_class

if TYPE_CHECKING:
    from mainspring.settings import Settings

TASK: Final = "mainspring.run"
# The Celery names of our queues.
QUEUES: Final = {name: f"automations_{name}" for name in ("fast", "medium", "long")}
# After this time every worker has polled anyway.
EXPIRES_SECONDS: Final = 60.0
# With this many queued hints every worker knows that there is work.
MOST_IN_LINE: Final = 1_000
# The broker timeouts of senders and of listeners.
_SEND_SECONDS, _LISTEN_SECONDS = 2.0, 15.0
_SCHEMES: Final = {
    "redis": ("redis", 6379),
    "rediss": ("redis", 6379),
    "amqp": ("amqp", 5672),
    "amqps": ("amqp", 5671),
}
# The query parameters of a broker URL: TLS options for Redis.
_TLS_WORDS: Final = frozenset(
    {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
)


@dataclass(frozen=True, slots=True)
class Broker:
    """A configured broker; whether it is reachable shows when it is used."""

    url: str = field(repr=False)
    # redis or amqp.
    kind: str
    # For display: without user and password.
    address: str
    # What workers do in the meantime, for the same sentence.
    poll_seconds: float = 1.0
    # The TLS options for the libraries, when the URL requires TLS.
    tls: Mapping[str, Any] | None = None

    @property
    def gone(self) -> str:
        return (
            f"Cannot reach the broker at {self.address}. Nothing is lost: workers poll "
            f"for runs every {self.poll_seconds:g} s until it is back."
        )

    @property
    def back(self) -> str:
        return f"The broker at {self.address} is available again."

    def sending(self) -> Any:
        """The application of a sender: it gives up soon."""
        if self.kind == "redis":
            options: dict[str, Any] = _redis_options(_SEND_SECONDS)
        else:
            # Only a confirmed message reveals a connection that died silently.
            options = {
                "confirm_publish": True,
                "read_timeout": _SEND_SECONDS,
                "write_timeout": _SEND_SECONDS,
            }
        return self._app(
            {
                "broker_transport_options": {**options, "max_retries": 1, "interval_start": 0},
                "broker_connection_timeout": _SEND_SECONDS,
                # A rarely used connection would not answer heartbeats.
                "broker_heartbeat": 0,
            }
        )

    def listening(
        self, hint: Callable[..., None], connected: Callable[[], None], lost: Callable[[], None]
    ) -> Any:
        """The application of a worker: its one task is the hint."""
        app = self._app(
            {
                "broker_transport_options": _redis_options(_LISTEN_SECONDS)
                if self.kind == "redis"
                else {},
                "broker_connection_retry_on_startup": True,
                "broker_connection_max_retries": None,
                "worker_consumer": build_consumer_class(connected, lost),
                # The hint affects our own process, so no other process may run it.
                "worker_pool": "solo",
                "worker_concurrency": 1,
                "worker_prefetch_multiplier": 1,
                "worker_cancel_long_running_tasks_on_connection_loss": True,
                "worker_hijack_root_logger": False,
                "worker_redirect_stdouts": False,
                "worker_disable_rate_limits": True,
            }
        )
        app.task(name=TASK, shared=False)(hint)
        return app

    def _app(self, more: Mapping[str, Any]) -> Any:
        celery, kombu = importlib.import_module("celery"), importlib.import_module("kombu")
        app = celery.Celery("mainspring", broker=self.url, set_as_current=False)
        app.conf.update(
            task_queues=[_queue(kombu, name) for name in QUEUES.values()],
            task_default_queue=QUEUES["fast"],
            task_ignore_result=True,
            task_serializer="json",
            accept_content=["json"],
            **({} if self.tls is None else {"broker_use_ssl": dict(self.tls)}),
            **more,
        )
        return app


def broker_of(settings: Settings) -> Broker | None:
    """The broker, if one is configured; invalid settings are refused at the start."""
    if settings.transport != "celery":
        return None
    if not settings.broker_url:
        raise Invalid(
            "MAINSPRING_TRANSPORT=celery needs a broker, and none is set.",
            code="no_broker",
            suggestion="Set MAINSPRING_BROKER_URL, such as redis://host:6379/0.",
        )
    broker = _read(settings.broker_url, settings.poll_seconds)
    missing = [name for name in _required_packages(broker.kind) if find_spec(name) is None]
    if missing:
        raise Invalid(
            f"MAINSPRING_TRANSPORT=celery needs {' and '.join(missing)}, which is not installed.",
            code="celery_not_installed",
            suggestion=format_install_hint("celery"),
        )
    return broker


def _read(url: str, poll_seconds: float) -> Broker:
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port
    except ValueError:
        split, host, port = urlsplit(""), None, None
    if split.scheme not in _SCHEMES or not host:
        raise Invalid(
            "MAINSPRING_BROKER_URL is not a valid broker URL.",
            code="bad_broker_url",
            suggestion="Write redis://host:6379/0 or amqp://user:password@host:5672 for RabbitMQ; "
            "with TLS rediss:// or amqps://.",
        )
    _check_query(split.scheme, split.query)
    kind, usual = _SCHEMES[split.scheme]
    shown = f"[{host}]" if ":" in host else host
    return Broker(url, kind, f"{shown}:{port or usual}", poll_seconds, _tls(split.scheme, host))


def _check_query(scheme: str, query: str) -> None:
    """An unknown parameter would look like an unreachable broker."""
    words = {word.partition("=")[0] for word in query.split("&") if word}
    if words <= (_TLS_WORDS if scheme == "rediss" else set()):
        return
    raise Invalid(
        "MAINSPRING_BROKER_URL has query parameters that are not supported.",
        code="bad_broker_url",
        suggestion=(
            f"rediss:// accepts {', '.join(sorted(_TLS_WORDS))}; redis://, amqp:// and "
            "amqps:// accept none."
        ),
    )


def _tls(scheme: str, host: str) -> Mapping[str, Any] | None:
    """Verify certificates and host names.

    By default Celery verifies neither with Redis, and with RabbitMQ the certificate but not the
    host name. Options in a Redis URL override this.
    """
    if scheme == "rediss":
        return {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
    if scheme == "amqps":
        return {"server_hostname": host}
    return None


def _required_packages(kind: str) -> tuple[str, ...]:
    return ("celery", "redis") if kind == "redis" else ("celery", "amqp")


def _redis_options(seconds: float) -> dict[str, Any]:
    return {
        "socket_timeout": seconds,
        "socket_connect_timeout": min(seconds, 5.0),
        # Hints of a killed worker are redelivered after this time, and are late then.
        "visibility_timeout": EXPIRES_SECONDS * 10,
    }


def _queue(kombu: Any, name: str) -> Any:
    """RabbitMQ expires old hints itself; Redis cannot, so the sender counts them."""
    exchange = kombu.Exchange(name, type="direct")
    return kombu.Queue(
        name, exchange, routing_key=name, message_ttl=EXPIRES_SECONDS, max_length=MOST_IN_LINE
    )
