"""The broker of the transport celery: what the settings say, and the application over it.

Celery is an extra, so it is imported when it is used and never before. Nothing it keeps
matters: no results, no retries, and messages that are worth nothing after a minute.
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
from mainspring.runs.transport.taking import taker

if TYPE_CHECKING:
    from mainspring.settings import Settings

TASK: Final = "mainspring.run"
# Our queues, by what Celery calls them.
QUEUES: Final = {name: f"automations_{name}" for name in ("fast", "medium", "long")}
# Whoever has not heard within this time has looked by itself long ago.
EXPIRES_SECONDS: Final = 60.0
# With so many hints in line every worker knows that there is work.
MOST_IN_LINE: Final = 1_000
# How long a broker may take to answer those who send, and those who listen.
_SEND_SECONDS, _LISTEN_SECONDS = 2.0, 15.0
_SCHEMES: Final = {
    "redis": ("redis", 6379),
    "rediss": ("redis", 6379),
    "amqp": ("amqp", 5672),
    "amqps": ("amqp", 5671),
}
# What an address may say after its question mark: how TLS is spoken with Redis.
_TLS_WORDS: Final = frozenset(
    {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that can be spoken to; whether it is there shows when it is asked."""

    url: str = field(repr=False)
    # redis or amqp.
    kind: str
    # For people: without a user and a password.
    address: str
    # What workers do in the meantime, for the same sentence.
    poll_seconds: float = 1.0
    # What the libraries are told of TLS, where the address asks for it.
    tls: Mapping[str, Any] | None = None

    @property
    def gone(self) -> str:
        return (
            f"The broker at {self.address} cannot be reached. Nothing is lost: workers look for "
            f"runs every {self.poll_seconds:g} s until it is back."
        )

    @property
    def back(self) -> str:
        return f"The broker at {self.address} is back."

    def sending(self) -> Any:
        """The application of whoever sends: it gives up soon."""
        if self.kind == "redis":
            options: dict[str, Any] = _redis_options(_SEND_SECONDS)
        else:
            # Only a confirmed message tells a connection that has died in silence.
            options = {
                "confirm_publish": True,
                "read_timeout": _SEND_SECONDS,
                "write_timeout": _SEND_SECONDS,
            }
        return self._app(
            {
                "broker_transport_options": {**options, "max_retries": 1, "interval_start": 0},
                "broker_connection_timeout": _SEND_SECONDS,
                # Nobody would answer the heartbeats of a connection that is used now and then.
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
                "worker_consumer": taker(connected, lost),
                # The hint touches our own process, so no other process may run it.
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
    """The broker, if one is wanted; settings that cannot work are refused at the start."""
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
            f"MAINSPRING_TRANSPORT=celery needs {' and '.join(missing)}, which is not here.",
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
            "MAINSPRING_BROKER_URL is not the address of a broker.",
            code="bad_broker_url",
            suggestion="Write redis://host:6379/0 or amqp://user:password@host:5672 for RabbitMQ; "
            "with TLS rediss:// or amqps://.",
        )
    _check_query(split.scheme, split.query)
    kind, usual = _SCHEMES[split.scheme]
    shown = f"[{host}]" if ":" in host else host
    return Broker(url, kind, f"{shown}:{port or usual}", poll_seconds, _tls(split.scheme, host))


def _check_query(scheme: str, query: str) -> None:
    """A word that the libraries do not know would look like a broker that is never there."""
    words = {word.partition("=")[0] for word in query.split("&") if word}
    if words <= (_TLS_WORDS if scheme == "rediss" else set()):
        return
    raise Invalid(
        "MAINSPRING_BROKER_URL says something after its question mark that is not understood.",
        code="bad_broker_url",
        suggestion=f"With rediss:// there may be {', '.join(sorted(_TLS_WORDS))}; redis://, "
        "amqp:// and amqps:// have nothing there.",
    )


def _tls(scheme: str, host: str) -> Mapping[str, Any] | None:
    """Certificates and their names are checked.

    By itself Celery checks neither with Redis, and with RabbitMQ the certificate but not its
    name. What an address of Redis says about it takes the place of this.
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
        # Hints of a worker that was killed are given to others after this, and are late then.
        "visibility_timeout": EXPIRES_SECONDS * 10,
    }


def _queue(kombu: Any, name: str) -> Any:
    """RabbitMQ throws old hints away by itself; Redis has no such rules, so the sender counts."""
    exchange = kombu.Exchange(name, type="direct")
    return kombu.Queue(
        name, exchange, routing_key=name, message_ttl=EXPIRES_SECONDS, max_length=MOST_IN_LINE
    )
