"""Webhook signatures: one description per provider, and one verification for all of them.

A scheme says where the signature is, which bytes it covers, how it is computed and encoded, and how
old it may be. The presets are what the providers publish; ``custom`` schemes come from a trigger's
config. Signatures are always computed over the raw bytes of the body.

A preset also knows the provider's delivery id, which becomes the idempotency key, and the name of
the event.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

Algorithm = Literal["hmac-sha256", "hmac-sha1", "ed25519", "ecdsa-sha256", "equal"]
Encoding = Literal["hex", "base64"]

# The maximum number of signatures in a header that are checked, for key rotation.
_MOST_SIGNATURES: Final = 16
_TOKEN: Final = re.compile(r"\{(body|timestamp|id|method|url|form)\}")
_DIGITS: Final = re.compile(r"[0-9]{1,15}")
_ID: Final = re.compile(r"[\x21-\x7e]{1,255}")
_WHSEC: Final = "whsec_"
_FORM: Final = "application/x-www-form-urlencoded"

FIVE_MINUTES: Final = 300


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """The parts of a request that signatures cover. Header names are lower case."""

    method: str
    # The public address that the sender called, with its query.
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a value is: in a header, or in the JSON body under these keys."""

    header: str = ""
    body: tuple[str, ...] = ()

    def find(self, headers: Mapping[str, str], body: Any) -> str | None:
        if self.header:
            return headers.get(self.header)
        for key in self.body:
            body = body.get(key) if isinstance(body, Mapping) else None
        if isinstance(body, bool) or not isinstance(body, str | int):
            return None
        return str(body) or None


@dataclass(frozen=True, slots=True)
class SignatureScheme:
    """How one kind of sender signs its requests."""

    header: str
    algorithm: Algorithm = "hmac-sha256"
    encoding: Encoding = "hex"
    # The signed text; the tokens are body, timestamp, id, method, url and form.
    signed: str = "{body}"
    # Before each signature, and between several in one header.
    prefix: str = ""
    separator: str = ""
    # The timestamp: in a header of its own, or as an entry of the signature header.
    timestamp_header: str = ""
    timestamp_prefix: str = ""
    milliseconds: bool = False
    # The maximum age in seconds. None: the timestamp is not checked.
    tolerance: int | None = None
    # Whether a timestamp ahead of our clock is accepted by the same tolerance, or always.
    checks_future: bool = True
    id_header: str = ""
    # Whether the key is the base64 after ``whsec_``, instead of the text of the secret.
    base64_key: bool = False

    def is_signed(self, request: ReceivedRequest, secrets: Sequence[str], now: datetime) -> bool:
        """Whether one of the secrets signed the request, recently enough."""
        shown = request.headers.get(self.header)
        if shown is None:
            return False
        entries = shown.split(self.separator) if self.separator else [shown]
        entries = [one.strip() for one in entries]
        timestamp = self._find_timestamp(request, entries)
        if timestamp is None or not self._is_recent(timestamp, now):
            return False
        message = self._build_message(request, timestamp)
        if message is None:
            return False
        presented = [
            one.removeprefix(self.prefix) for one in entries if one.startswith(self.prefix)
        ]
        # Compare all of them, so that the timing does not reveal which one was wrong.
        matches = [
            self._matches(signature, message, secret)
            for secret in secrets
            for signature in presented[:_MOST_SIGNATURES]
        ]
        return any(matches)

    def sign(self, request: ReceivedRequest, secret: str, timestamp: int) -> dict[str, str]:
        """The headers of a request that is signed with this secret: for samples and tests."""
        if self.algorithm == "equal":
            return {self.header: secret}
        text = str(timestamp * 1000 if self.milliseconds else timestamp)
        message = self._build_message(request, text)
        key = self._read_key(secret)
        if message is None or key is None or not self.algorithm.startswith("hmac"):
            raise ValueError(f"A signature by {self.algorithm} needs the private key.")
        value = self.prefix + _encode(_hmac(self.algorithm, key, message), self.encoding)
        if self.timestamp_prefix:
            value = f"{self.timestamp_prefix}{text}{self.separator}{value}"
        signed = {self.header: value}
        if self.timestamp_header:
            signed[self.timestamp_header] = text
        return signed

    def _find_timestamp(self, request: ReceivedRequest, entries: Sequence[str]) -> str | None:
        """The timestamp as it was signed; empty where the scheme has none."""
        if self.timestamp_header:
            found = request.headers.get(self.timestamp_header)
        elif self.timestamp_prefix:
            prefix = self.timestamp_prefix
            named = [one.removeprefix(prefix) for one in entries if one.startswith(prefix)]
            found = named[0] if len(named) == 1 else None
        else:
            return ""
        return found if found is not None and _DIGITS.fullmatch(found) else None

    def _is_recent(self, timestamp: str, now: datetime) -> bool:
        if self.tolerance is None or not timestamp:
            return True
        sent = int(timestamp) / (1000 if self.milliseconds else 1)
        age = now.timestamp() - sent
        return age <= self.tolerance and (not self.checks_future or age >= -self.tolerance)

    def _build_message(self, request: ReceivedRequest, timestamp: str) -> bytes | None:
        """The signed bytes; None when the request lacks a part of them."""
        parts: dict[str, bytes | None] = {
            "body": request.body,
            "timestamp": timestamp.encode(),
            "method": request.method.encode(),
            "url": request.url.encode(),
        }
        if "{form}" in self.signed:
            parts["form"] = _join_form(request)
        if "{id}" in self.signed:
            id_ = request.headers.get(self.id_header, "")
            parts["id"] = id_.encode() if _ID.fullmatch(id_) else None
        pieces = [
            parts[piece] if place % 2 else piece.encode()
            for place, piece in enumerate(_TOKEN.split(self.signed))
        ]
        whole = [piece for piece in pieces if piece is not None]
        return b"".join(whole) if len(whole) == len(pieces) else None

    def _matches(self, signature: str, message: bytes, secret: str) -> bool:
        if self.algorithm == "equal":
            return hmac.compare_digest(signature.encode("utf-8", "replace"), secret.encode())
        if self.algorithm.startswith("hmac"):
            key = self._read_key(secret)
            if key is None:
                return False
            right = _encode(_hmac(self.algorithm, key, message), self.encoding)
            presented = signature.lower() if self.encoding == "hex" else signature
            return hmac.compare_digest(presented.encode("utf-8", "replace"), right.encode())
        raw = _decode(signature, self.encoding)
        return raw is not None and _verify_public(self.algorithm, secret.strip(), raw, message)

    def is_usable(self, secret: str) -> bool:
        """Whether a secret has the form of this scheme's key."""
        return self._read_key(secret) is not None

    def _read_key(self, secret: str) -> bytes | None:
        return read_base64_secret(secret) if self.base64_key else secret.encode()


def read_base64_secret(text: str) -> bytes | None:
    """The key of a Standard Webhooks secret: base64, with or without ``whsec_``."""
    written = text.strip().removeprefix(_WHSEC).rstrip("=")
    try:
        key = base64.b64decode(written + "=" * (-len(written) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key or None


def _hmac(algorithm: Algorithm, key: bytes, message: bytes) -> bytes:
    digest = hashlib.sha1 if algorithm == "hmac-sha1" else hashlib.sha256
    return hmac.digest(key, message, digest)


def _encode(raw: bytes, encoding: Encoding) -> str:
    return raw.hex() if encoding == "hex" else base64.b64encode(raw).decode()


def _decode(text: str, encoding: Encoding) -> bytes | None:
    try:
        return bytes.fromhex(text) if encoding == "hex" else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _verify_public(algorithm: Algorithm, key: str, signature: bytes, message: bytes) -> bool:
    verify = _load_verifier(algorithm, key)
    if verify is None:
        return False
    try:
        verify(signature, message)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=256)
def _load_verifier(algorithm: Algorithm, key: str) -> Callable[[bytes, bytes], None] | None:
    """Verify signatures by a public key: raw hex for Ed25519, base64 of DER for ECDSA."""
    try:
        if algorithm == "ed25519":
            return ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify
        loaded = load_der_public_key(base64.b64decode(key))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(loaded, ec.EllipticCurvePublicKey):
        return None
    return lambda signature, message: loaded.verify(signature, message, ec.ECDSA(SHA256()))


def _join_form(request: ReceivedRequest) -> bytes | None:
    """The fields of a form, sorted by name, as Twilio signs them after the URL.

    Another body is covered by the query parameter ``bodySHA256`` of the signed URL.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _FORM:
        if not request.body:
            return b""
        hashed = parse_qs(urlsplit(request.url).query).get("bodySHA256", [])
        right = hashlib.sha256(request.body).hexdigest()
        return b"" if [one.lower() for one in hashed] == [right] else None
    try:
        fields = parse_qsl(request.body.decode(), keep_blank_values=True, max_num_fields=1_000)
    except ValueError:
        return None
    return "".join(name + value for name, value in sorted(set(fields))).encode()


# Handshakes: signed requests that a provider sends to see whether the address answers. They start
# no run.


@dataclass(frozen=True, slots=True)
class HandshakeReply:
    """The JSON, or the plain text, that answers a handshake."""

    body: Mapping[str, Any]
    text: str | None = None


Handshake = Callable[[Mapping[str, str], Any, str], HandshakeReply | None]


def _answer_slack(headers: Mapping[str, str], body: Any, secret: str) -> HandshakeReply | None:
    del headers, secret
    if _as_object(body).get("type") != "url_verification":
        return None
    return HandshakeReply({"challenge": str(body["challenge"])}) if "challenge" in body else None


def _answer_discord(headers: Mapping[str, str], body: Any, secret: str) -> HandshakeReply | None:
    del headers, secret
    return HandshakeReply({"type": 1}) if _as_object(body).get("type") == 1 else None


def _answer_zoom(headers: Mapping[str, str], body: Any, secret: str) -> HandshakeReply | None:
    del headers
    if _as_object(body).get("event") != "endpoint.url_validation":
        return None
    plain = str(_as_object(_as_object(body).get("payload")).get("plainToken"))
    encrypted = _hmac("hmac-sha256", secret.encode(), plain.encode()).hex()
    return HandshakeReply({"plainToken": plain, "encryptedToken": encrypted})


def _answer_github(headers: Mapping[str, str], body: Any, secret: str) -> HandshakeReply | None:
    del body, secret
    return HandshakeReply({"event": "ping"}) if headers.get("x-github-event") == "ping" else None


# Handshakes that are not signed. The sender proves that it knows a secret in another way, or the
# address itself is secret.

_CHALLENGE: Final = re.compile(r"[\x20-\x7e]{1,2000}")


def answer_subscription(url: str, secrets: Sequence[str]) -> HandshakeReply | None:
    """Meta's subscription: the verify token is one of the webhook's secrets."""
    query = parse_qs(urlsplit(url).query, max_num_fields=100)
    mode, token, challenge = (
        (query.get(f"hub.{name}") or [""])[0] for name in ("mode", "verify_token", "challenge")
    )
    matches = [hmac.compare_digest(token.encode(), secret.encode()) for secret in secrets]
    if mode != "subscribe" or not any(matches) or not _CHALLENGE.fullmatch(challenge):
        return None
    return HandshakeReply({}, challenge)


def answer_validation(url: str, body: Any) -> HandshakeReply | None:
    """Handshakes at a secret address: Microsoft Graph's token, and monday.com's challenge."""
    query = parse_qs(urlsplit(url).query, max_num_fields=100)
    token = (query.get("validationToken") or [""])[0]
    if _CHALLENGE.fullmatch(token):
        return HandshakeReply({}, token)
    if isinstance(body, Mapping) and body.keys() == {"challenge"}:
        challenge = body["challenge"]
        if isinstance(challenge, str) and _CHALLENGE.fullmatch(challenge):
            return HandshakeReply({"challenge": challenge})
    return None


def _as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Provider:
    """A preset: how a provider signs, and what its requests are called."""

    title: str
    # Several where a provider has several generations of signatures: the first whose header is
    # present counts.
    schemes: tuple[SignatureScheme, ...]
    delivery: Lookup = field(default_factory=Lookup)
    event: Lookup = field(default_factory=Lookup)
    # The largest body that the provider sends, where it is more than the default limit.
    most_bytes: int | None = None
    handshake: Handshake | None = None
    # Whether a subscription is confirmed by an unsigned GET with the query hub.challenge.
    subscribes: bool = False
    # Whether equal signed bodies are one delivery, because there is no delivery id.
    identified_by_body: bool = False

    def find_delivery(self, headers: Mapping[str, str], body: Any) -> str | None:
        """The provider's id of this delivery, which stays the same when it is repeated."""
        scheme = self.find_scheme(headers)
        if scheme is not None and scheme.id_header:
            return headers.get(scheme.id_header)
        found = self.delivery.find(headers, body)
        return found if found is None or _ID.fullmatch(found) else None

    def find_scheme(self, headers: Mapping[str, str]) -> SignatureScheme | None:
        return next((one for one in self.schemes if one.header in headers), None)


STANDARD: Final = SignatureScheme(
    "webhook-signature",
    encoding="base64",
    signed="{id}.{timestamp}.{body}",
    prefix="v1,",
    separator=" ",
    timestamp_header="webhook-timestamp",
    tolerance=FIVE_MINUTES,
    id_header="webhook-id",
    base64_key=True,
)
SVIX: Final = SignatureScheme(
    "svix-signature",
    encoding="base64",
    signed="{id}.{timestamp}.{body}",
    prefix="v1,",
    separator=" ",
    timestamp_header="svix-timestamp",
    tolerance=FIVE_MINUTES,
    id_header="svix-id",
    base64_key=True,
)
STANDARD_WEBHOOKS: Final = Provider(
    "Standard Webhooks", (STANDARD, SVIX), event=Lookup(body=("type",))
)

PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        "calendly": Provider(
            "Calendly",
            (
                SignatureScheme(
                    "calendly-webhook-signature",
                    signed="{timestamp}.{body}",
                    prefix="v1=",
                    separator=",",
                    timestamp_prefix="t=",
                    tolerance=180,
                ),
            ),
            event=Lookup(body=("event",)),
            identified_by_body=True,
        ),
        "discord": Provider(
            "Discord interactions",
            (
                SignatureScheme(
                    "x-signature-ed25519",
                    algorithm="ed25519",
                    signed="{timestamp}{body}",
                    timestamp_header="x-signature-timestamp",
                    tolerance=FIVE_MINUTES,
                ),
            ),
            Lookup(body=("id",)),
            Lookup(body=("type",)),
            handshake=_answer_discord,
        ),
        "github": Provider(
            "GitHub",
            (SignatureScheme("x-hub-signature-256", prefix="sha256="),),
            Lookup("x-github-delivery"),
            Lookup("x-github-event"),
            most_bytes=25 * 1024 * 1024,
            handshake=_answer_github,
        ),
        "gitlab": Provider(
            "GitLab",
            (STANDARD, SignatureScheme("x-gitlab-token", algorithm="equal")),
            Lookup("idempotency-key"),
            Lookup("x-gitlab-event"),
        ),
        "hubspot": Provider(
            "HubSpot",
            (
                SignatureScheme(
                    "x-hubspot-signature-v3",
                    encoding="base64",
                    signed="{method}{url}{body}{timestamp}",
                    timestamp_header="x-hubspot-request-timestamp",
                    milliseconds=True,
                    tolerance=FIVE_MINUTES,
                ),
            ),
            identified_by_body=True,
        ),
        "intercom": Provider(
            "Intercom",
            (SignatureScheme("x-hub-signature", algorithm="hmac-sha1", prefix="sha1="),),
            Lookup(body=("id",)),
            Lookup(body=("topic",)),
        ),
        "linear": Provider(
            "Linear",
            (
                SignatureScheme(
                    "linear-signature",
                    timestamp_header="linear-timestamp",
                    milliseconds=True,
                    tolerance=60,
                ),
            ),
            Lookup("linear-delivery"),
            Lookup("linear-event"),
        ),
        "meta": Provider(
            "Meta (Facebook, Instagram, WhatsApp)",
            (SignatureScheme("x-hub-signature-256", prefix="sha256="),),
            event=Lookup(body=("object",)),
            subscribes=True,
            identified_by_body=True,
        ),
        "notion": Provider(
            "Notion",
            (SignatureScheme("x-notion-signature", prefix="sha256="),),
            Lookup(body=("id",)),
            Lookup(body=("type",)),
        ),
        "paddle": Provider(
            "Paddle",
            (
                SignatureScheme(
                    "paddle-signature",
                    signed="{timestamp}:{body}",
                    prefix="h1=",
                    separator=";",
                    timestamp_prefix="ts=",
                    tolerance=FIVE_MINUTES,
                ),
            ),
            Lookup(body=("event_id",)),
            Lookup(body=("event_type",)),
        ),
        "pagerduty": Provider(
            "PagerDuty",
            (SignatureScheme("x-pagerduty-signature", prefix="v1=", separator=","),),
            Lookup(body=("event", "id")),
            Lookup(body=("event", "event_type")),
        ),
        "sendgrid": Provider(
            "SendGrid",
            (
                SignatureScheme(
                    "x-twilio-email-event-webhook-signature",
                    algorithm="ecdsa-sha256",
                    encoding="base64",
                    signed="{timestamp}{body}",
                    timestamp_header="x-twilio-email-event-webhook-timestamp",
                    tolerance=FIVE_MINUTES,
                ),
            ),
            identified_by_body=True,
        ),
        "shopify": Provider(
            "Shopify",
            (SignatureScheme("x-shopify-hmac-sha256", encoding="base64"),),
            Lookup("x-shopify-webhook-id"),
            Lookup("x-shopify-topic"),
        ),
        "slack": Provider(
            "Slack",
            (
                SignatureScheme(
                    "x-slack-signature",
                    signed="v0:{timestamp}:{body}",
                    prefix="v0=",
                    timestamp_header="x-slack-request-timestamp",
                    tolerance=FIVE_MINUTES,
                ),
            ),
            Lookup(body=("event_id",)),
            Lookup(body=("event", "type")),
            handshake=_answer_slack,
        ),
        "stripe": Provider(
            "Stripe",
            (
                SignatureScheme(
                    "stripe-signature",
                    signed="{timestamp}.{body}",
                    prefix="v1=",
                    separator=",",
                    timestamp_prefix="t=",
                    tolerance=FIVE_MINUTES,
                    checks_future=False,
                ),
            ),
            Lookup(body=("id",)),
            Lookup(body=("type",)),
        ),
        "telegram": Provider(
            "Telegram",
            (SignatureScheme("x-telegram-bot-api-secret-token", algorithm="equal"),),
            Lookup(body=("update_id",)),
        ),
        "twilio": Provider(
            "Twilio",
            (
                SignatureScheme(
                    "x-twilio-signature",
                    algorithm="hmac-sha1",
                    encoding="base64",
                    signed="{url}{form}",
                ),
            ),
            Lookup("i-twilio-idempotency-token"),
        ),
        "typeform": Provider(
            "Typeform",
            (SignatureScheme("typeform-signature", encoding="base64", prefix="sha256="),),
            Lookup(body=("event_id",)),
            Lookup(body=("event_type",)),
        ),
        "zoom": Provider(
            "Zoom",
            (
                SignatureScheme(
                    "x-zm-signature",
                    signed="v0:{timestamp}:{body}",
                    prefix="v0=",
                    timestamp_header="x-zm-request-timestamp",
                    tolerance=FIVE_MINUTES,
                ),
            ),
            event=Lookup(body=("event",)),
            handshake=_answer_zoom,
            identified_by_body=True,
        ),
    }
)


# The largest body that a provider sends.
LARGEST_BODY: Final = max(one.most_bytes or 0 for one in PROVIDERS.values())


def build_custom_scheme(config: Mapping[str, Any]) -> SignatureScheme:
    """The scheme that a trigger's config describes."""
    header = str(config["header"]).lower()
    return SignatureScheme(
        header,
        algorithm=config.get("algorithm", "hmac-sha256"),
        encoding=config.get("encoding", "hex"),
        signed=config.get("signed", "{body}"),
        prefix=config.get("prefix", ""),
        separator=config.get("separator", ""),
        timestamp_header=str(config.get("timestamp_header", "")).lower(),
        timestamp_prefix=config.get("timestamp_prefix", ""),
        milliseconds=config.get("timestamp_unit") == "ms",
        tolerance=config.get("tolerance_seconds", FIVE_MINUTES),
        id_header=str(config.get("id_header", "")).lower(),
        base64_key=config.get("key_encoding") == "base64",
    )


# Authentication of one webhook, as its config says.

AuthType = Literal["bearer", "secret_url", "basic", "header", "standard_webhooks", "signature"]
CUSTOM: Final = "custom"


@dataclass(frozen=True, slots=True)
class WebhookAuth:
    """How the callers of a webhook authenticate."""

    type: AuthType = "bearer"
    # The names of the secrets, any of which is accepted.
    secrets: tuple[str, ...] = ()
    provider: Provider | None = None
    username: str = ""

    @property
    def uses_token(self) -> bool:
        return self.type in ("bearer", "secret_url")

    @property
    def signs_body(self) -> bool:
        """Whether the body is needed to check a request."""
        return self.type in ("standard_webhooks", "signature")

    def is_usable(self, secret: str) -> bool:
        """Whether a secret has the form of a key for one of the schemes."""
        return self.provider is None or any(one.is_usable(secret) for one in self.provider.schemes)

    def is_presented(self, headers: Mapping[str, str]) -> bool:
        """Whether a request has the header that is checked later."""
        if self.type == "basic":
            return headers.get("authorization", "").lower().startswith("basic ")
        return self.provider is not None and self.provider.find_scheme(headers) is not None

    def is_genuine(self, request: ReceivedRequest, secrets: Sequence[str], now: datetime) -> bool:
        """Whether the request proves that its sender knows one of the secrets."""
        if self.type == "basic":
            shown = request.headers.get("authorization", "").partition(" ")[2].strip()
            matches = [
                hmac.compare_digest(
                    shown.encode(), base64.b64encode(f"{self.username}:{secret}".encode())
                )
                for secret in secrets
            ]
            return any(matches)
        scheme = None if self.provider is None else self.provider.find_scheme(request.headers)
        return scheme is not None and scheme.is_signed(request, secrets, now)

    def is_stale(self, request: ReceivedRequest, secrets: Sequence[str], now: datetime) -> bool:
        """Whether a refused request has a valid signature, whose time is beyond the tolerance."""
        scheme = None if self.provider is None else self.provider.find_scheme(request.headers)
        if scheme is None or scheme.tolerance is None:
            return False
        return replace(scheme, tolerance=None).is_signed(request, secrets, now)


BEARER: Final = WebhookAuth()


def read_auth(config: Mapping[str, Any]) -> WebhookAuth:
    """The authentication that a webhook trigger's config asks for."""
    auth = config.get("auth")
    if auth is None:
        signature = config.get("signature")
        if signature is None:
            return BEARER
        return WebhookAuth("standard_webhooks", (str(signature["secret"]),), STANDARD_WEBHOOKS)
    secrets = tuple(auth.get("secrets", ())) or ((auth["secret"],) if "secret" in auth else ())
    provider: Provider | None = None
    if auth["type"] == "standard_webhooks":
        provider = STANDARD_WEBHOOKS
    elif auth["type"] == "header":
        scheme = SignatureScheme(str(auth["header"]).lower(), algorithm="equal")
        provider = Provider("Header", (scheme,))
    elif auth["type"] == "signature" and auth["provider"] == CUSTOM:
        provider = Provider("Custom", (build_custom_scheme(auth),))
    elif auth["type"] == "signature":
        provider = PROVIDERS[auth["provider"]]
    return WebhookAuth(auth["type"], secrets, provider, str(auth.get("username", "")))


def has_auth(config: Mapping[str, Any]) -> bool:
    """Whether the config names its authentication, instead of using the default."""
    return config.get("auth") is not None


# Headers whose names say that they carry a credential, whatever the webhook itself uses.
_CREDENTIAL: Final = re.compile(
    r"(.*-)?(authorization|auth|cookie|cookies|token|secret|signature|password|passwd|api-?key|"
    r"access-key|credentials?)(-.*)?"
)


def remove_credentials(headers: Mapping[str, str], auth: WebhookAuth) -> dict[str, str]:
    """The headers without those that prove who the sender is."""
    schemes = () if auth.provider is None else auth.provider.schemes
    hidden = {scheme.header for scheme in schemes}
    return {
        name: value
        for name, value in headers.items()
        if name not in hidden and not _CREDENTIAL.fullmatch(name)
    }
