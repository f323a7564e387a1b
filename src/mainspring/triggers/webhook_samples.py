"""Signed samples: a request as the provider would send it, to test a webhook without the provider.

A sample takes the same way as a real request: it is authenticated by its signature, and recorded as
a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.triggers.webhook_auth import WebhookRequest
from mainspring.triggers.webhook_bodies import build_payload, parse_body
from mainspring.triggers.webhook_signatures import (
    HandshakeReply,
    Lookup,
    Provider,
    ReceivedRequest,
    WebhookAuth,
    read_auth,
)

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.triggers.webhook_receiver import WebhookReceipt, WebhookReceiver

_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"


def build_sample(
    auth: WebhookAuth, secret: str, event: str, url: str, now: datetime
) -> ReceivedRequest:
    """A signed request with an event; ``Conflict`` when this kind of signature cannot be made."""
    provider = auth.provider
    if provider is None:
        raise Conflict(
            "This webhook is called with its token, which is not stored.",
            code="no_sample",
            suggestion="Create a token with `mainspring webhook token`, and use the curl command.",
        )
    headers: dict[str, str] = {"content-type": _JSON, "user-agent": "Mainspring-Webhook-Test"}
    body: dict[str, Any] = {"sample": True}
    _put(provider.event, event, headers, body)
    _put(provider.delivery, str(generate_id()), headers, body)
    scheme = provider.schemes[0]
    if scheme.id_header:
        headers[scheme.id_header] = f"msg_{generate_id().hex}"
    raw = json.dumps(body).encode()
    if "{form}" in scheme.signed:
        # The signature covers the fields of a form.
        headers["content-type"], raw = _FORM, urlencode({"sample": "true"}).encode()
    request = ReceivedRequest("POST", url, headers, raw)
    try:
        signed = scheme.sign(request, secret, int(now.timestamp()))
    except ValueError:
        raise Conflict(
            f"{provider.title} signs with a private key, which only the provider has.",
            code="no_sample",
            suggestion="Send a test event from the provider's own settings.",
        ) from None
    return replace(request, headers={**headers, **signed})


def _put(place: Lookup, value: str, headers: dict[str, str], body: dict[str, Any]) -> None:
    if place.header:
        headers[place.header] = value
        return
    inner = body
    for key in place.body[:-1]:
        inner = inner.setdefault(key, {})
    if place.body:
        inner.setdefault(place.body[-1], value)


async def send_sample(
    receiver: WebhookReceiver,
    limits: Limits,
    automation_id: UUID,
    slug: str,
    *,
    url: str,
    provider: Provider | None,
    event: str,
) -> WebhookReceipt | HandshakeReply | Mapping[str, Any]:
    """Sign a sample and hand it in; ``provider`` is the one that the webhook must have."""
    request = WebhookRequest(automation_id, None, slug, url=url)
    webhook, secrets = await receiver.find_with_secrets(request)
    if webhook is None:
        raise NotFound("There is no such webhook.", code="no_trigger")
    auth = read_auth(webhook.config)
    if provider is not None and auth.provider is not provider:
        raise Conflict(
            f"This webhook does not verify signatures of {provider.title}.",
            code="other_provider",
            suggestion="Name the provider in the trigger's auth.",
        )
    if auth.provider is not None and not secrets:
        raise Conflict(
            "The secret of this webhook is missing or has the wrong form.",
            code="no_secret",
            suggestion="Store it with `mainspring secrets set`.",
        )
    sample = build_sample(auth, secrets[0] if secrets else "", event, url, webhook.now)
    raw_headers = [(name.encode(), value.encode()) for name, value in sample.headers.items()]
    request = replace(request, raw_headers=raw_headers, raw=sample.body, size=len(sample.body))
    request = await receiver.receive(request)
    await receiver.admit(request)
    payload = build_payload(
        sample, auth, parse_body(sample.body, sample.headers["content-type"], limits)
    )
    request = replace(request, value=payload)
    reply = await receiver.answer_handshake(request)
    return await receiver.take(request) if reply is None else reply
