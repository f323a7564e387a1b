"""An npm registry behind a private certificate authority, and an environment that trusts none."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.kit.certificates import server_side

_VARIABLES: Final = (
    "DENO_CERT",
    "DENO_TLS_CA_STORE",
    "PIP_CERT",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
)


@contextmanager
def npm_registry(certificate: Path) -> Iterator[tuple[str, list[str]]]:
    """An npm registry that has no package, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    server.socket = server_side(certificate).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def forget_authorities(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No variable and no configuration file names a certificate; caches are empty."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DENO_DIR", str(folder / "deno"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", os.devnull)
    monkeypatch.setenv("NPM_CONFIG_CACHE", str(folder / "npm"))
