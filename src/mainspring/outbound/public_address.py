"""Tests the public address of this server, as far as that is possible from here.

The server proves its identity with a code made from its master key, so an answer of another server
at the same address is recognised. What only the internet can see is named, and not guessed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2

from mainspring.outbound.egress.dial import is_public

PROOF_PATH: Final = "/api/v1/public-address/proof"
PURPOSE: Final = b"public address"
# No automation has this id; the answer shows that the path of webhooks arrives.
_WEBHOOK_PATH: Final = "/api/v1/automations/00000000-0000-7000-8000-000000000000/fire"
_SECONDS: Final = 10.0
_CLOCK_SECONDS: Final = 30.0
_SOON_DAYS: Final = 14
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

Verdict = Literal["ok", "doubtful", "wrong", "unknown"]
# What an address is, as configured; nothing is asked.
AddressKind = Literal["unset", "not_https", "private", "public"]


@dataclass(frozen=True, slots=True)
class PublicAddressCheck:
    """One test and its result."""

    name: str
    verdict: Verdict
    detail: str
    suggestion: str | None = None


def classify_address(url: str | None) -> AddressKind:
    """Whether the internet can reach an address as it is configured."""
    if not url:
        return "unset"
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    try:
        if not is_public(ipaddress.ip_address(host)):
            return "private"
    except ValueError:
        if "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan")):
            return "private"
    return "public" if parts.scheme == "https" else "not_https"


def make_proof(key: bytes, nonce: str) -> str:
    """What only a server with this master key answers to a nonce."""
    return hmac.new(key, nonce.encode(), hashlib.sha256).hexdigest()


class PublicAddressProbe:
    """Tests one address; every test is independent, and none raises."""

    def __init__(
        self,
        url: str | None,
        key: bytes,
        *,
        proxies: int | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._url = (url or "").rstrip("/")
        self._key = key
        self._proxies = proxies
        self._trust = trust or ssl.create_default_context()
        self._parts = urlsplit(self._url)
        self._host = self._parts.hostname or ""

    async def run(self) -> list[PublicAddressCheck]:
        """All tests, in the order in which a person fixes what they find."""
        kind = classify_address(self._url or None)
        found = [_describe_kind(kind, self._url)]
        if kind == "unset":
            return found
        names = await self._check_name()
        found.append(names)
        if names.verdict == "wrong":
            return [*found, self._outside()]
        if self._parts.scheme == "https":
            found.append(await self._check_certificate())
        found += await self._check_server()
        if self._parts.scheme == "https" and self._parts.port in (None, 443):
            found.append(await self._check_redirect())
        return [*found, self._outside()]

    async def _check_name(self) -> PublicAddressCheck:
        loop = asyncio.get_running_loop()
        port = self._parts.port or (443 if self._parts.scheme == "https" else 80)
        try:
            async with asyncio.timeout(_SECONDS):
                rows = await loop.getaddrinfo(self._host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, TimeoutError):
            return PublicAddressCheck(
                "name",
                "wrong",
                f"{self._host} does not resolve to an address.",
                "Add an A or AAAA record for it, or correct MAINSPRING_PUBLIC_URL.",
            )
        addresses = sorted({str(row[4][0]) for row in rows})
        shown = ", ".join(addresses[:4])
        if not any(is_public(ipaddress.ip_address(one.partition("%")[0])) for one in addresses):
            return PublicAddressCheck(
                "name",
                "doubtful",
                f"{self._host} resolves to {shown} here, which the internet cannot reach.",
                "Normal behind a local DNS server. Otherwise point the name to a public address.",
            )
        return PublicAddressCheck("name", "ok", f"{self._host} resolves to {shown}.")

    async def _check_certificate(self) -> PublicAddressCheck:
        port = self._parts.port or 443
        try:
            async with asyncio.timeout(_SECONDS):
                _, writer = await asyncio.open_connection(
                    self._host, port, ssl=self._trust, server_hostname=self._host
                )
        except ssl.SSLCertVerificationError as error:
            return PublicAddressCheck(
                "certificate",
                "wrong",
                f"The certificate is not valid: {error.verify_message}.",
                "Senders of webhooks refuse it. Set MAINSPRING_ACME_DOMAINS, or renew it at your "
                "proxy.",
            )
        except (OSError, TimeoutError) as error:
            return PublicAddressCheck(
                "certificate",
                "wrong",
                f"Port {port} of {self._host} does not answer with TLS: {type(error).__name__}.",
                "Start the server or proxy that listens there, and open the port.",
            )
        try:
            certificate = writer.get_extra_info("ssl_object").getpeercert()
        finally:
            writer.close()
        ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)
        days = (ends - datetime.now(UTC)).days
        text = f"The certificate is valid for {days} more days, until {ends:%Y-%m-%d}."
        if days < _SOON_DAYS:
            return PublicAddressCheck("certificate", "doubtful", text, "Check that it is renewed.")
        return PublicAddressCheck("certificate", "ok", text)

    async def _check_server(self) -> list[PublicAddressCheck]:
        nonce = secrets.token_hex(16)
        try:
            async with self._open() as http:
                answer = await http.get(f"{self._url}{PROOF_PATH}", params={"nonce": nonce})
                webhook = await http.post(f"{self._url}{_WEBHOOK_PATH}", json={})
        except httpx2.HTTPError as error:
            return [
                PublicAddressCheck(
                    "server",
                    "wrong",
                    f"{self._url} does not answer: {type(error).__name__}.",
                    "Start the server, and check the port, the firewall and the proxy.",
                )
            ]
        found = [self._judge_identity(answer, nonce)]
        if found[0].verdict == "ok":
            shown: Mapping[str, Any] = answer.json()
            found += [self._judge_proxy(shown), self._judge_clock(answer)]
            found.append(_judge_webhook(webhook))
        return found

    def _open(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            verify=self._trust, timeout=_SECONDS, follow_redirects=False, trust_env=False
        )

    def _judge_identity(self, answer: httpx2.Response, nonce: str) -> PublicAddressCheck:
        if answer.status_code in _REDIRECTS:
            target = answer.headers.get("location", "nowhere")[:200]
            return PublicAddressCheck(
                "server",
                "wrong",
                f"The address redirects to {target}. Senders of webhooks do not follow redirects.",
                "Set MAINSPRING_PUBLIC_URL to the address that answers.",
            )
        try:
            proof = answer.json().get("proof", "")
        except (ValueError, AttributeError):
            proof = ""
        if answer.status_code == 200 and hmac.compare_digest(
            str(proof).encode(), make_proof(self._key, nonce).encode()
        ):
            return PublicAddressCheck("server", "ok", "This server answers at the address.")
        return PublicAddressCheck(
            "server",
            "wrong",
            f"Another server answers at the address, with status {answer.status_code}.",
            "Point the name or the proxy to this server. Every machine needs the same master key.",
        )

    def _judge_proxy(self, shown: Mapping[str, Any]) -> PublicAddressCheck:
        if shown.get("host") not in {self._parts.netloc, self._host}:
            return PublicAddressCheck(
                "proxy",
                "doubtful",
                f"A proxy passes on the Host {str(shown.get('host'))[:100]!r}.",
                f"Have it pass on {self._parts.netloc}.",
            )
        hops = int(shown.get("forwarded_hops") or 0)
        if hops and self._proxies is None:
            return PublicAddressCheck(
                "proxy",
                "doubtful",
                f"{hops} proxies add to X-Forwarded-For, and MAINSPRING_PROXIES is not set.",
                f"Set MAINSPRING_PROXIES to {hops}, so that rate limits apply to each caller.",
            )
        if self._proxies and hops < self._proxies:
            return PublicAddressCheck(
                "proxy",
                "wrong",
                f"MAINSPRING_PROXIES is {self._proxies}, and X-Forwarded-For has {hops} entries.",
                f"Set MAINSPRING_PROXIES to {hops}, or have the proxies add the header.",
            )
        said = f"{hops} proxies add to X-Forwarded-For" if hops else "There is no proxy in between"
        return PublicAddressCheck("proxy", "ok", f"{said}, and the Host header arrives.")

    def _judge_clock(self, answer: httpx2.Response) -> PublicAddressCheck:
        try:
            apart = abs(
                (datetime.now(UTC) - parsedate_to_datetime(answer.headers["date"])).total_seconds()
            )
        except (KeyError, ValueError, TypeError):
            return PublicAddressCheck("clock", "unknown", "The answer has no valid Date header.")
        if apart > _CLOCK_SECONDS:
            return PublicAddressCheck(
                "clock",
                "wrong",
                f"The clock at the address is {apart:.0f} s away from this one.",
                "Synchronise the clocks: signatures of webhooks expire after five minutes.",
            )
        return PublicAddressCheck("clock", "ok", "The clocks of the address and of this agree.")

    async def _check_redirect(self) -> PublicAddressCheck:
        try:
            async with self._open() as http:
                answer = await http.get(f"http://{self._host}/")
        except httpx2.HTTPError:
            return PublicAddressCheck(
                "redirect", "ok", "Nothing answers over plain http, so nothing is sent that way."
            )
        target = answer.headers.get("location", "")
        if answer.status_code in _REDIRECTS and target.startswith("https://"):
            return PublicAddressCheck("redirect", "ok", "Plain http is redirected to https.")
        return PublicAddressCheck(
            "redirect",
            "doubtful",
            f"http://{self._host}/ answers with status {answer.status_code} and not with a "
            "redirect to https.",
            "Have the proxy redirect it, so that no token is sent unencrypted.",
        )

    def _outside(self) -> PublicAddressCheck:
        return PublicAddressCheck(
            "from outside",
            "unknown",
            "These tests started on this machine. Whether a firewall lets the internet in can only "
            "be seen from outside.",
            f"Open {self._url}/api/v1/health/live on a phone without Wi-Fi.",
        )


def _judge_webhook(answer: httpx2.Response) -> PublicAddressCheck:
    """Without a token a webhook is refused by us; a proxy that refuses it answers otherwise."""
    ours = answer.headers.get("content-type", "").startswith("application/problem+json")
    if ours and answer.status_code in {401, 404}:
        return PublicAddressCheck("webhooks", "ok", "Requests to webhooks arrive.")
    return PublicAddressCheck(
        "webhooks",
        "wrong",
        f"A request to a webhook was answered with status {answer.status_code} on the way.",
        "Have the proxy pass on POST requests to /api/v1 without a sign-in of its own.",
    )


def _describe_kind(kind: AddressKind, url: str) -> PublicAddressCheck:
    match kind:
        case "unset":
            return PublicAddressCheck(
                "address",
                "wrong",
                "No public address is set, so no provider can call a webhook.",
                "Set MAINSPRING_PUBLIC_URL, or MAINSPRING_ACME_DOMAINS for a certificate as well.",
            )
        case "private":
            return PublicAddressCheck(
                "address",
                "wrong",
                f"{url} is an address that only this machine or network can reach.",
                "Set MAINSPRING_PUBLIC_URL to a public name, such as that of a tunnel.",
            )
        case "not_https":
            return PublicAddressCheck(
                "address",
                "doubtful",
                f"{url} is not https: tokens and payloads can be read on the way.",
                "Use https; most providers call nothing else.",
            )
    return PublicAddressCheck("address", "ok", f"The public address is {url}.")
