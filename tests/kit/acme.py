"""Certificate authorities for tests: a double, and Pebble where it is installed.

Pebble is the test server of Let's Encrypt (``apt-get install pebble``).
"""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.kit.certificates import client_side, signed_by_private_ca
from tests.kit.doubles.acme import AcmeAuthority

_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class AcmeServer:
    """Where an authority is, and the ports at which it looks for challenges."""

    directory_url: str
    ca_file: Path
    http_port: int
    https_port: int
    # Trusts what the authority issues.
    client: ssl.SSLContext


def find_free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def authorities() -> list[str]:
    """The authorities that tests of the protocol run with."""
    return ["double", *(["pebble"] if shutil.which("pebble") else [])]


@contextmanager
def acme_server(kind: str, folder: Path) -> Iterator[AcmeServer]:
    """An authority that listens until the block ends."""
    with (_pebble if kind == "pebble" else _double)(folder) as made:
        yield made


@contextmanager
def acme_double(folder: Path) -> Iterator[AcmeAuthority]:
    """A double with knobs."""
    http_port, https_port = find_free_ports(2)
    authority = AcmeAuthority(folder, http_port, https_port)
    try:
        yield authority
    finally:
        authority.close()


@contextmanager
def _double(folder: Path) -> Iterator[AcmeServer]:
    with acme_double(folder) as authority:
        yield AcmeServer(
            authority.directory_url,
            authority.ca_file,
            authority.http_port,
            authority.tls_port,
            authority.trust_issued(),
        )


@contextmanager
def _pebble(folder: Path) -> Iterator[AcmeServer]:
    http_port, https_port, port, management, dns = find_free_ports(5)
    ca_file, served = signed_by_private_ca(folder, "localhost")
    config = folder / "pebble.json"
    config.write_text(
        json.dumps(
            {
                "pebble": {
                    "listenAddress": f"127.0.0.1:{port}",
                    "managementListenAddress": f"127.0.0.1:{management}",
                    "certificate": str(served),
                    "privateKey": str(served),
                    "httpPort": http_port,
                    "tlsPort": https_port,
                }
            }
        )
    )
    pebble, names = shutil.which("pebble"), shutil.which("pebble-challtestsrv")
    assert pebble
    assert names
    resolver = [
        names,
        "-defaultIPv6",
        "",
        "-defaultIPv4",
        "127.0.0.1",
        "-dns01",
        f"127.0.0.1:{dns}",
    ]
    resolver += ["-http01", "", "-https01", "", "-tlsalpn01", "", "-management", ""]
    authority = [pebble, "-strict", "-config", str(config), "-dnsserver", f"127.0.0.1:{dns}"]
    environment = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "5"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen(resolver, **quiet) as one,  # type: ignore[call-overload]
        subprocess.Popen(authority, env=environment, **quiet) as other,  # type: ignore[call-overload]
    ):
        try:
            trusted = client_side(ca_file)
            url = f"https://localhost:{port}/dir"
            _await_answer(url, trusted)
            root = _read(f"https://localhost:{management}/roots/0", trusted)
            client = ssl.create_default_context(cadata=root)
            yield AcmeServer(url, ca_file, http_port, https_port, client)
        finally:
            one.terminate()
            other.terminate()


def _await_answer(url: str, trusted: ssl.SSLContext) -> None:
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            _read(url, trusted)
            return
        except OSError:
            assert time.monotonic() < ends, "Pebble does not answer"
            time.sleep(0.05)


def _read(url: str, trusted: ssl.SSLContext) -> str:
    with urllib.request.urlopen(url, context=trusted, timeout=5) as answer:
        return str(answer.read().decode())
