"""Web Push: encrypted notifications to browsers, over their makers' push services.

A message is encrypted for one browser (RFC 8291 over RFC 8188), so the push service between us and
the browser cannot read it. The request is signed with this installation's VAPID key (RFC 8292),
which is made when it is first needed and stored in the vault. It leaves through the guarded
egress, like every other request.

``PushSender`` sends one message. ``PushDelivery`` is the loop that sends what is queued: it tries
again with a growing pause while a push service is not available, and removes the subscription of
a browser that the service does not know any more.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
import os
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import (
    Expired,
    Finding,
    Invalid,
    LimitExceeded,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.outbound.egress import parse_url
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace import push_subscriptions as rows
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.push_subscriptions import PushMessage, Target, new_target
from mainspring.workspace.sealing import connection_scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mainspring.contracts.clock import Clock
    from mainspring.outbound.egress import Egress
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

log = logging.getLogger(__name__)

_KEY_DRAWER: Final = connection_scope(FIRST_WORKSPACE, UUID("00000000-0000-7000-8000-77656270757a"))
_KEY_NAME: Final = "vapid_private_key"
_CURVE: Final = ec.SECP256R1()
_RECORD_BYTES: Final = 4096
# Push services refuse more than 24 hours.
_TOKEN_LIFETIME: Final = timedelta(hours=12)
_TEST_SECONDS: Final = 300
_LONGEST_TTL: Final = 7 * 24 * 3600
_LONGEST_PAUSE: Final = 3_600.0
_SECONDS: Final = 15.0
_LONGEST_ENDPOINT: Final = 2_000
_LONGEST_NAME: Final = 200
_GONE: Final = frozenset({404, 410})
_NOT_NOW: Final = frozenset({408, 429})
_REFUSED: Final = frozenset({401, 403})
_UNENCODED: Final = re.compile(r"[A-Za-z0-9_-]+={0,2}")

_TITLES: Final = {
    "draft": "A message waits for your approval",
    "question": "A question waits for your answer",
    "consent": "An automation waits for your consent",
    "failure": "An automation failed",
    "pause": "An automation was paused after failures",
}


@dataclass(frozen=True, slots=True)
class Notification:
    """All that a browser is sent: no text of a draft, a question or an error is in it."""

    title: str
    # The name of the automation.
    body: str
    # A path of the page.
    link: str
    tag: str

    def encode(self) -> bytes:
        return orjson.dumps(
            {"title": self.title, "body": self.body, "link": self.link, "tag": self.tag}
        )


class PushSender:
    """Sends messages to browsers, signed with the key of this installation."""

    def __init__(self, vault: Vault, egress: Egress, clock: Clock, contact: str) -> None:
        self._vault = vault
        self._egress = egress
        self._clock = clock
        # Whom the operator of a push service can reach: an https address or a mailto.
        self._contact = contact
        self._key: ec.EllipticCurvePrivateKey | None = None

    async def public_key(self) -> str:
        """The key that a browser binds its subscription to."""
        return _encoded(_point(await self._private_key()))

    async def read_subscription(self, endpoint: str, p256dh: str, auth: str) -> Target:
        """Validates what a browser says of its subscription, before anything is sent to it."""
        keys = _read_keys(p256dh, auth)
        if len(endpoint) > _LONGEST_ENDPOINT or not endpoint.isascii():
            sentence = f"It is not an address of at most {_LONGEST_ENDPOINT} ASCII characters."
            raise _invalid("endpoint", sentence)
        try:
            target = parse_url(endpoint)
            await self._egress.check_address(target)
        except (Invalid, PermissionDenied) as problem:
            raise _invalid(
                "endpoint", problem.detail, code=problem.code, suggestion=problem.suggestion
            ) from None
        if target.scheme != "https" and not self._egress.is_allowed(target):
            raise _invalid("endpoint", "A push service is called over https.")
        return new_target(endpoint, *keys)

    async def send(self, target: Target, notification: Notification, ttl: int) -> None:
        """Sends one message; a problem says whether it may be tried again."""
        key = await self._private_key()
        where = parse_url(target.endpoint)
        token = sign_token(
            key,
            {
                "aud": f"{where.scheme}://{where.authority}",
                "exp": int((self._clock.now() + _TOKEN_LIFETIME).timestamp()),
                "sub": self._contact,
            },
        )
        request = HttpRequest(
            "POST",
            target.endpoint,
            headers={
                "Authorization": f"vapid t={token}, k={_encoded(_point(key))}",
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(max(0, min(ttl, _LONGEST_TTL))),
                "Urgency": "high",
            },
            query={},
            body=encrypt(notification.encode(), target.p256dh, target.auth),
            timeout_seconds=_SECONDS,
            max_bytes=65_536,
            # A redirect would take the message to a service that nobody subscribed to.
            follow_redirects=False,
        )
        answer = await self._egress.send(request)
        if not 200 <= answer.status < 300:
            raise _refusal(answer, where.authority)

    async def send_test(self, target: Target) -> None:
        """Sends a message that only shows that messages arrive."""
        shown = Notification(
            "Notifications work", "Mainspring can reach this device.", "/settings/you", "test"
        )
        await self.send(target, shown, _TEST_SECONDS)

    async def _private_key(self) -> ec.EllipticCurvePrivateKey:
        if self._key is None:
            fresh = ec.generate_private_key(_CURVE).private_numbers().private_value
            kept = await self._vault.ensure(_KEY_DRAWER, _KEY_NAME, f"{fresh:064x}")
            self._key = ec.derive_private_key(int(kept, 16), _CURVE)
        return self._key


class PushDelivery:
    """The loop that sends what is queued; any number of processes may run it."""

    PAUSE: Final = 2.0
    MOST: Final = 20

    def __init__(self, database: Database, sender: PushSender) -> None:
        self._database = database
        self._sender = sender

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        while not stop.is_set():
            try:
                while await self.once():
                    pass
            except Exception as error:
                log.warning(
                    "Notifications could not be sent: %s", log_and_convert_error(error).detail
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self.PAUSE)

    async def once(self) -> int:
        """Sends what is due; answers how many messages that were."""
        async with self._database.transaction() as tx:
            await rows.queue_waiting(tx)
            taken = await rows.take_messages(tx, self.MOST)
        # All at once: a push service that does not answer delays no other.
        ends = await asyncio.gather(*map(self._deliver, taken), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end
        return len(taken)

    async def _deliver(self, message: PushMessage) -> None:
        problem: Problem | None = None
        if message.wanted:
            try:
                await self._sender.send(
                    message.target, notification_of(message), message.seconds_left
                )
            except Exception as error:
                problem = error if isinstance(error, Problem) else log_and_convert_error(error)
        async with self._database.transaction() as tx:
            if not message.wanted:
                await rows.drop_message(tx, message)
            elif problem is None:
                await rows.mark_sent(tx, message)
            elif isinstance(problem, Expired):
                await rows.remove_gone(tx, message.target)
            else:
                await rows.note_problem(tx, message.target, problem.as_dict())
                if problem.retryable and message.tries < rows.TRIES:
                    await rows.postpone(tx, message, problem.retry_after)
                else:
                    await rows.drop_message(tx, message)


def notification_of(message: PushMessage) -> Notification:
    """What is shown of a message, and the page that it leads to."""
    # An id has no character that an address could read otherwise.
    match message.about:
        case "draft" | "question":
            page = f"/inbox?item={message.about_id}&"
        case "consent":
            page = f"/automations/{message.automation_id}?"
        case "failure" if message.run_id is None:
            # A trigger that cannot read its source has no run.
            page = f"/automations/{message.automation_id}?"
        case _:
            page = f"/runs/{message.run_id}?"
    name = "".join(sign if sign.isprintable() else " " for sign in message.automation or "")
    return Notification(
        _TITLES[message.about],
        name[:_LONGEST_NAME],
        f"{page}workspace={message.workspace_id}",
        f"{message.about}-{message.about_id}",
    )


def encrypt(
    plain: bytes,
    p256dh: bytes,
    auth: bytes,
    *,
    salt: bytes | None = None,
    key: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """One record for one browser (RFC 8291); salt and key are new each time, except in tests."""
    salt = salt or os.urandom(16)
    key = key or ec.generate_private_key(_CURVE)
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, p256dh))
    ours = _point(key)
    secret = _derived(shared, auth, b"WebPush: info\0" + p256dh + ours, 32)
    content_key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + _RECORD_BYTES.to_bytes(4, "big") + bytes([len(ours)]) + ours
    # The byte 2 marks the end of the last record.
    return head + AESGCM(content_key).encrypt(nonce, plain + b"\x02", None)


def sign_token(key: ec.EllipticCurvePrivateKey, claims: Mapping[str, Any]) -> str:
    """A JWT signed with ES256."""
    head = orjson.dumps({"typ": "JWT", "alg": "ES256"})
    signed = f"{_encoded(head)}.{_encoded(orjson.dumps(claims))}"
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def contact_of(address: str, mail_from: str) -> str:
    """Where the operator of a push service finds the operator of this installation."""
    return address if address.startswith("https://") else f"mailto:{mail_from}"


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(field: str, text: str) -> bytes:
    try:
        if _UNENCODED.fullmatch(text) is None:
            raise ValueError
        return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (ValueError, binascii.Error):
        raise _invalid(f"keys/{field}", "It is not base64url.") from None


def _read_keys(p256dh: str, auth: str) -> tuple[bytes, bytes]:
    point, secret = _decoded("p256dh", p256dh), _decoded("auth", auth)
    try:
        if len(point) != 65:
            raise ValueError
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        raise _invalid("keys/p256dh", "It is not a public key on the curve P-256.") from None
    if len(secret) != 16:
        raise _invalid("keys/auth", "It is not 16 bytes long.")
    return point, secret


def _refusal(answer: HttpResponse, service: str) -> Problem:
    """What an answer of a push service means; its text is not trusted and not repeated."""
    status = answer.status
    if status in _GONE:
        return Expired(
            "The push service no longer knows this browser.",
            code="subscription_gone",
            suggestion="Turn notifications on again in that browser.",
        )
    pause = _retry_after(answer.headers.get("retry-after"))
    if status in _NOT_NOW:
        return LimitExceeded(
            f"The push service {service} limits the rate of messages.",
            code="push_rate_limited",
            retry_after=pause,
        )
    if status in _REFUSED:
        return UpstreamError(
            f"The push service {service} does not accept the key of this installation.",
            code="push_refused",
            suggestion="Turn notifications off in that browser, then on again.",
            retryable=False,
        )
    return UpstreamError(
        f"The push service {service} answered {status}.",
        code="push_failed",
        retry_after=pause,
        retryable=status >= 500,
    )


def _retry_after(text: str | None) -> float | None:
    """The seconds that a service asks to wait; a date is left to our own backoff."""
    if text is None or not text.isascii() or not text.isdigit():
        return None
    return min(float(text), _LONGEST_PAUSE)


def _invalid(
    field: str, detail: str, *, code: str = "bad_subscription", suggestion: str | None = None
) -> Invalid:
    sentence = f"This subscription cannot be used: {detail}"
    return Invalid(
        sentence,
        code=code,
        findings=[Finding(f"/{field}", detail, code)],
        suggestion=suggestion,
    )
