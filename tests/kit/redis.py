"""A real Redis for tests: a server of its own on loopback, in a folder of its own.

It keeps nothing on disk. A test may stop it and start it again on the same port, because
what happens while a broker is away is most of what there is to test about one.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from scripts.test_services import redis_server
from tests.kit.postgres import open_folder

_PATIENCE = 60.0


@dataclass(slots=True)
class RedisServer:
    """One server; its port stays the same over its lives."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        return redis.Redis(port=self.port, socket_timeout=_PATIENCE)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                redis_server(),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(self.folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self.process.poll() is None, "redis-server ended before it answered"
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """At once: as when the machine of the broker is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError), contextlib.closing(self.client()) as client:
            return bool(client.ping())
        return False


@contextlib.contextmanager
def running_redis() -> Iterator[RedisServer]:
    """A server until the block ends."""
    with open_folder() as folder:
        server = RedisServer(folder, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
