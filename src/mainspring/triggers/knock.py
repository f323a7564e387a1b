"""A call of a webhook on its way to becoming a moment: what it shows, and its key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, Unauthenticated
from mainspring.contracts.ids import generate_id
from mainspring.triggers.callers import Source
from mainspring.triggers.signature import WebhookSignature
from mainspring.workspace.webhooks import WebhookTrigger

_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_NOBODY: Final = UUID(int=0)
_FORM: Final = "1 to 255 visible ASCII characters, without spaces"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One call, read but not yet judged."""

    # None: what stands in the address is no id.
    automation_id: UUID | None
    # The hash of whatever was shown as a token. None: the call names a slug instead.
    digest: bytes | None
    slug: str = ""
    value: Any = None
    # The body as it came, where a signature has to be checked.
    raw: bytes = b""
    size: int = 0
    seal: WebhookSignature | None = None
    idempotency_keys: Sequence[str] = ()
    # Whom it was found to be for, a moment ago.
    webhook: WebhookTrigger | None = None
    # The id of the run it may start: the same knock written twice is one run.
    run_id: UUID = field(default_factory=generate_id)

    @property
    def source(self) -> Source:
        """Whom it says it is for; what cannot be anybody is looked up all the same."""
        if self.digest is not None:
            return self.digest
        usable = self.slug.isascii() and self.slug.isprintable()
        return (self.automation_id or _NOBODY, self.slug if usable else "")

    def may_be_for(self, webhook: WebhookTrigger) -> bool:
        """Whether it shows what this webhook asks for; a signature is not looked into here."""
        if webhook.automation_id != self.automation_id:
            return False
        if self.digest is not None and not webhook.has_token(self.digest):
            return False
        if webhook.signing_secret is None:
            return self.digest is not None
        return self.seal is not None


def unknown_webhook() -> Unauthenticated:
    """One answer for every way in which a call can fail to show that it may come in."""
    return Unauthenticated(
        "This needs the token of one of this automation's webhooks, or its signature.",
        code="unknown_webhook",
        suggestion="Send the token in the header 'Authorization: Bearer mwh_…'.",
    )


def sender_key(headers: Sequence[str], value: Any) -> str | None:
    """The idempotency key of a call: from its header, else from its body."""
    inside = None
    if isinstance(value, dict) and "idempotency_key" in value:
        inside = value["idempotency_key"]
        if not isinstance(inside, str) or not _KEY.fullmatch(inside):
            raise _invalid_request("/idempotency_key", f"idempotency_key must be {_FORM}.")
    return one_key(headers, inside)


def one_key(headers: Sequence[str], inside: str | None) -> str | None:
    """The key that the header and the body of a request agree on."""
    if len(headers) > 1:
        raise _invalid_request("/header/idempotency-key", "Idempotency-Key may be given once.")
    shown = headers[0] if headers else None
    if shown is not None and not _KEY.fullmatch(shown):
        raise _invalid_request("/header/idempotency-key", f"Idempotency-Key must be {_FORM}.")
    if None not in (shown, inside) and shown != inside:
        raise _invalid_request("/idempotency_key", "The header Idempotency-Key says another key.")
    return shown if inside is None else inside


def _invalid_request(pointer: str, detail: str) -> Invalid:
    finding = Finding(pointer, detail, "idempotency_key")
    return Invalid(detail, code="idempotency_key", findings=[finding])
