"""A push service on loopback, and browsers that are subscribed to it.

It accepts a message as real push services do: signed with the key that the browser subscribed
with (RFC 8292), with a TTL, and encrypted for that browser (RFC 8030, RFC 8291). What it accepts it
decrypts with the browser's private key, independently of the product's code.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

_CURVE = ec.SECP256R1()
_DAY = 24 * 3600


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(slots=True)
class SubscribedBrowser:
    """One browser's subscription: its address, its keys, and what it was shown."""

    endpoint: str
    # The applicationServerKey that it subscribed with; only that server may send to it.
    server_key: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(_CURVE)
    )
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    shown: list[dict[str, Any]] = field(default_factory=list)
    ttls: list[int] = field(default_factory=list)

    @property
    def point(self) -> bytes:
        public = self.private.public_key()
        return public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def endpoint_hash(self) -> str:
        return hashlib.sha256(self.endpoint.encode()).hexdigest()

    def as_json(self, **more: Any) -> dict[str, Any]:
        """What `PushSubscription.toJSON()` answers, as far as the server takes it."""
        keys = {"p256dh": encoded(self.point), "auth": encoded(self.auth)}
        return {"endpoint": self.endpoint, "keys": keys, **more}

    def decrypt(self, body: bytes) -> dict[str, Any]:
        """The message as the browser reads it."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size
        public = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, theirs)
        shared = self.private.exchange(ec.ECDH(), public)
        info = b"WebPush: info\0" + self.point + theirs
        secret = _hkdf(self.auth, shared, info, 32)
        key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert plain.endswith(b"\x02")
        made: dict[str, Any] = json.loads(plain[:-1])
        return made


@dataclass(slots=True)
class PushServiceDouble(ScriptedDouble):
    """The service between the server and the browsers."""

    browsers: dict[str, SubscribedBrowser] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)

    def subscribe(self, server_key: str) -> SubscribedBrowser:
        path = f"/push/{encoded(os.urandom(24))}"
        made = SubscribedBrowser(self.url + path, server_key)
        self.browsers[path] = made
        return made

    def forget(self, browser: SubscribedBrowser) -> None:
        """Its person has removed the page, or the permission."""
        self.browsers = {path: one for path, one in self.browsers.items() if one is not browser}

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        if method != "POST":
            return _refused(405, "only POST")
        browser = self.browsers.get(path)
        if browser is None:
            return _refused(410, "push subscription has unsubscribed or expired")
        if (wrong := self._authorization(headers.get("authorization", ""), browser)) is not None:
            return _refused(403, wrong)
        if not headers.get("ttl", "").isdigit():
            return _refused(400, "a TTL is needed")
        if headers.get("content-encoding") != "aes128gcm" or len(body) > 4096:
            return _refused(400, "not one record of aes128gcm")
        try:
            browser.shown.append(browser.decrypt(body))
        except (InvalidTag, ValueError, AssertionError):
            return _refused(400, "the browser cannot decrypt it")
        browser.ttls.append(int(headers["ttl"]))
        return http_answer(201, b"", "Location: /m/1")

    def _authorization(self, shown: str, browser: SubscribedBrowser) -> str | None:
        scheme, _, rest = shown.partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
        if scheme != "vapid" or parts.keys() != {"t", "k"}:
            return "not a VAPID authorization"
        if parts["k"] != browser.server_key:
            return "the key is not the one of the subscription"
        signed, _, signature = parts["t"].rpartition(".")
        header, _, claims = signed.partition(".")
        if json.loads(decoded(header)) != {"typ": "JWT", "alg": "ES256"}:
            return "not ES256"
        raw = decoded(signature)
        if len(raw) != 64:
            return "the signature is not 64 bytes"
        pair = encode_dss_signature(
            int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        )
        public = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, decoded(parts["k"]))
        try:
            public.verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return "the signature does not fit"
        found = json.loads(decoded(claims))
        self.claims.append(found)
        if found.get("aud") != self.url:
            return "for another audience"
        if not time.time() < found.get("exp", 0) <= time.time() + _DAY:
            return "expired, or too far ahead"
        if not str(found.get("sub", "")).startswith(("mailto:", "https://")):
            return "nobody to reach"
        return None


def _refused(status: int, reason: str) -> bytes:
    return http_answer(status, json.dumps({"reason": reason}).encode())


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869 for lengths up to one block, from its two formulas."""
    prk = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(prk, info + b"\x01", hashlib.sha256).digest()[:length]


@contextlib.asynccontextmanager
async def push_service() -> AsyncIterator[PushServiceDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(PushServiceDouble()) as double:
        yield double
