"""A public server obtains, uses, renews and replaces its certificate by itself.

Each test of the protocol runs with a double, and with Pebble where it is installed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from mainspring.contracts.errors import Conflict
from mainspring.settings import Settings
from mainspring.surfaces.rest.certificate_store import open_store
from mainspring.surfaces.rest.certificates import CertificateManager
from tests.kit.acme import AcmeServer, acme_double, acme_server, authorities
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.doubles.acme import AcmeAuthority

NAME, OTHER = "hooks.example.com", "www.example.com"
PATIENCE = 60.0


def _settings(bench: Bench, server: AcmeServer, **more: Any) -> Settings:
    return replace(
        bench.application.settings,
        acme_domains=(NAME, OTHER),
        acme_terms="agreed",
        acme_email="ops@example.com",
        acme_directory_url=server.directory_url,
        acme_ca_file=server.ca_file,
        https_host="127.0.0.1",
        https_port=server.https_port,
        acme_http_port=server.http_port,
        public_url=f"https://{NAME}",
        **more,
    )


@asynccontextmanager
async def _serving(bench: Bench, settings: Settings) -> AsyncIterator[Api]:
    async with served(replace(bench.application, settings=settings), own_app=True) as api:
        yield api


def _describe(authority: AcmeAuthority) -> AcmeServer:
    return AcmeServer(
        authority.directory_url,
        authority.ca_file,
        authority.http_port,
        authority.tls_port,
        authority.trust_issued(),
    )


async def _until_healthy(api: Api) -> dict[str, Any]:
    """Wait until the health report says that there is a certificate."""
    async with asyncio.timeout(PATIENCE):
        while True:
            check = await _check(api)
            if check["ok"]:
                return check
            await asyncio.sleep(0.05)


async def _check(api: Api) -> dict[str, Any]:
    checks = (await api.anonymous.get("/api/v1/health")).json()["checks"]
    found: dict[str, Any] = next(one for one in checks if one["name"] == "certificate")
    return found


async def _connect(
    port: int, context: ssl.SSLContext, name: str = NAME
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    path: str = "/api/v1/health/live",
    host: str = NAME,
) -> tuple[int, bytes]:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    return int(head.split()[1]), head


def _serial(writer: asyncio.StreamWriter) -> int:
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(der).serial_number


@pytest.mark.parametrize("challenge", ["tls-alpn-01", "http-01"])
@pytest.mark.parametrize("kind", authorities())
async def test_a_server_with_a_domain_obtains_a_certificate_and_answers_with_it(
    bench: Bench, tmp_path: Path, kind: str, challenge: str
) -> None:
    with acme_server(kind, tmp_path) as server:
        settings = _settings(bench, server, acme_challenge=challenge)
        async with _serving(bench, settings) as api:
            await _until_healthy(api)
            for name in (NAME, OTHER):
                reader, writer = await _connect(server.https_port, server.client, name)
                assert (await _ask(reader, writer))[0] == 200
                writer.close()

        folder = settings.home / "certificates"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert modes == {"account": 0o600, "key": 0o600, "chain": 0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_restarted_server_uses_the_stored_certificate(bench: Bench, tmp_path: Path) -> None:
    with acme_double(tmp_path) as authority:
        settings = _settings(bench, _describe(authority))
        serials = []
        for _ in range(2):
            async with _serving(bench, settings) as api:
                await _until_healthy(api)
                _, writer = await _connect(authority.tls_port, authority.trust_issued())
                serials.append(_serial(writer))
                writer.close()

        assert serials[0] == serials[1]
        assert len(authority.issued) == 1


async def test_renewal_replaces_the_certificate_and_keeps_open_connections(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority:
        # Two thirds of it pass while the test waits.
        authority.lifetime = timedelta(seconds=12)
        settings = _settings(bench, _describe(authority))
        async with _serving(bench, settings) as api:
            await _until_healthy(api)
            reader, writer = await _connect(authority.tls_port, authority.trust_issued())
            assert (await _ask(reader, writer))[0] == 200
            authority.lifetime = timedelta(days=90)
            async with asyncio.timeout(PATIENCE):
                while len(authority.issued) < 2 or "20" not in (await _check(api))["detail"]:
                    await asyncio.sleep(0.05)

                fresh = _serial(writer)
                while fresh == _serial(writer):
                    _, other = await _connect(authority.tls_port, authority.trust_issued())
                    fresh = _serial(other)
                    other.close()
            # The connection that was open before still works, with its own certificate.
            assert (await _ask(reader, writer))[0] == 200
            writer.close()
        assert len(authority.accounts) == 1


async def test_another_client_during_a_challenge_gets_the_usual_certificate(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority:
        settings = _settings(bench, _describe(authority))
        store = open_store(settings, bench.application.database, bench.application.vault)
        manager = CertificateManager(settings, store, bench.application.database)
        for protocols, is_challenge in ((["http/1.1"], False), (["acme-tls/1"], True)):
            ours, theirs = socket.socketpair()
            context = ssl.create_default_context()
            context.set_alpn_protocols(protocols)
            outgoing = ssl.MemoryBIO()
            hello = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=NAME)
            with pytest.raises(ssl.SSLWantReadError):
                hello.do_handshake()
            data = outgoing.read()
            ours.setblocking(False)
            # In two pieces, as a network may deliver it.
            theirs.send(data[:40])
            asyncio.get_running_loop().call_later(0.05, theirs.send, data[40:])
            marker = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            manager._challenges = {NAME: marker}
            chosen = await manager.choose_context(ours)
            assert (chosen is marker) is is_challenge
            assert ours.recv(65_536) == data
            ours.close()
            theirs.close()


async def test_a_refused_nonce_is_retried(bench: Bench, tmp_path: Path) -> None:
    with acme_double(tmp_path) as authority:
        authority.refused_nonces = 1
        async with _serving(bench, _settings(bench, _describe(authority))) as api:
            await _until_healthy(api)
        assert authority.refused_nonces == 0


async def test_a_failure_is_reported_once_and_waits_as_long_as_the_authority_says(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority:
        authority.rate_limited = 5
        settings = _settings(bench, _describe(authority))
        async with _serving(bench, settings) as api:
            async with asyncio.timeout(PATIENCE):
                while "Too many new orders" not in (await _check(api))["detail"]:
                    await asyncio.sleep(0.05)
            health = await api.anonymous.get("/api/v1/health")
            assert (health.status_code, health.json()["status"]) == (503, "degraded")
            # A temporary certificate is served, which nobody trusts.
            with pytest.raises(ssl.SSLCertVerificationError):
                await _connect(authority.tls_port, authority.trust_issued())
        # A restart does not ask again before the authority allows it.
        async with _serving(bench, settings) as api:
            async with asyncio.timeout(PATIENCE):
                while "Too many new orders" not in (await _check(api))["detail"]:
                    await asyncio.sleep(0.05)
            rows = await bench.application.database.fetch("SELECT title FROM notifications")
        assert authority.rate_limited == 4
        assert [row["title"] for row in rows].count(f"No certificate for {NAME}") == 1


async def test_a_name_that_leads_elsewhere_is_explained(bench: Bench, tmp_path: Path) -> None:
    with acme_double(tmp_path) as authority:
        settings = _settings(bench, _describe(authority))
        # The authority connects to a port where nobody listens.
        authority.tls_port += 1
        async with _serving(bench, settings) as api:
            async with asyncio.timeout(PATIENCE):
                while "failed" not in (await _check(api))["detail"]:
                    await asyncio.sleep(0.05)
            detail = (await _check(api))["detail"]
        assert NAME in detail
        assert "ConnectionRefusedError" in detail


async def test_the_http_port_redirects_and_reflects_no_foreign_host(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority:
        settings = _settings(bench, _describe(authority), acme_challenge="http-01")
        async with _serving(bench, settings) as api:
            await _until_healthy(api)
            answers = {}
            for host in (OTHER, "evil.example.net"):
                reader, writer = await asyncio.open_connection("127.0.0.1", authority.http_port)
                answers[host] = await _ask(reader, writer, "/a%20b?c=d", host)
                writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", authority.http_port)
            unknown = await _ask(reader, writer, "/.well-known/acme-challenge/../state")
            writer.close()

    assert [status for status, _ in answers.values()] == [308, 308]
    assert f"location: https://{OTHER}/a%20b?c=d".encode() in answers[OTHER][1].lower()
    assert f"location: https://{NAME}/a%20b?c=d".encode() in answers["evil.example.net"][1].lower()
    assert unknown[0] == 404


async def test_several_machines_share_one_certificate_in_the_database(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority:
        settings = _settings(
            bench, _describe(authority), acme_challenge="http-01", acme_storage="database"
        )
        application = bench.application
        async with _serving(bench, settings) as api:
            await _until_healthy(api)
            # Another machine finds the certificate, and asks the authority nothing.
            store = open_store(settings, application.database, application.vault)
            other = CertificateManager(settings, store, application.database)
            await other.check()
            assert other.check_health().ok
        assert len(authority.issued) == 1
        assert not (settings.home / "certificates").exists()
        rows = await application.database.fetch("SELECT name, ciphertext FROM secrets")
        assert {row["name"] for row in rows} >= {"account", "chain", "key"}
        assert not any(b"PRIVATE KEY" in row["ciphertext"] for row in rows)


async def test_a_taken_https_port_is_a_problem_that_names_its_setting(
    bench: Bench, tmp_path: Path
) -> None:
    with acme_double(tmp_path) as authority, socket.create_server(("127.0.0.1", 0)) as taken:
        taken_port = taken.getsockname()[1]
        settings = replace(_settings(bench, _describe(authority)), https_port=taken_port)
        with pytest.raises(Conflict) as caught:
            async with _serving(bench, settings):
                pass
    assert "MAINSPRING_HTTPS_PORT" in str(caught.value.suggestion)
