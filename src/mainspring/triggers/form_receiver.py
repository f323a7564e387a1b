"""Forms: what a link shows, and submissions on their way to a run.

A submission is refused as early as possible: by the rate limit of its address, by an unknown link,
by its token, and only then by its values. What is left is dispatched like a webhook request, in one
transaction with its dedup key, so that one display of a form starts one run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import Conflict, Invalid, LimitExceeded, NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.forms import FormSettings, read_form, validate_submission
from mainspring.gate.rate_limit import RateLimiter
from mainspring.store.database import Database
from mainspring.store.rate_limit import LeakyBucket, fill_bucket
from mainspring.triggers.form_tokens import PURPOSE, check_form_token, make_form_token
from mainspring.triggers.webhook_auth import WebhookRequest
from mainspring.workspace.forms import FormMember, FormTrigger, find_form, find_form_member
from mainspring.workspace.vault import Vault
from mainspring.workspace.versions import read_version
from mainspring.workspace.webhooks import hash_webhook_token

# Requests for forms from one address: at once, and sustained per second.
_BURST: Final = 60
_PER_SECOND: Final = 1.0
_HOUR: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class OpenForm:
    """A form and the inputs of its automation, as they are now."""

    trigger: FormTrigger
    settings: FormSettings
    inputs_schema: Mapping[str, Any] | None


class FormReceiver:
    """Finds forms and checks submissions, for one process."""

    def __init__(self, database: Database, vault: Vault, clock: Clock, limits: Limits) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._limits = limits
        self._rate = RateLimiter(_BURST, _PER_SECOND)

    async def find(self, token: str, address: str) -> OpenForm:
        """The form at a link; ``NotFound`` for every other link."""
        seconds = self._rate.take(address)
        if seconds:
            raise _too_many(seconds)
        async with self._database.acquire() as connection:
            trigger = await find_form(connection, token)
            if trigger is None:
                raise NotFound(
                    "There is no form at this link.",
                    code="no_form",
                    suggestion="Ask the person who sent you the link for the current one.",
                )
            version = await read_version(
                connection, trigger.workspace_id, trigger.automation_id, trigger.version
            )
        schema = (version["definition"].get("inputs") or {}).get("schema")
        settings = read_form(trigger.config, schema, trigger.inputs, trigger.name, self._limits)
        return OpenForm(trigger, settings, schema)

    async def find_member(self, form: OpenForm, user_id: UUID) -> FormMember | None:
        """The member of the form's workspace with this user id."""
        async with self._database.acquire() as connection:
            return await find_form_member(connection, form.trigger.workspace_id, user_id)

    async def make_token(self, form: OpenForm) -> str:
        """A token for one submission of a form."""
        key = await self._vault.derived_key(PURPOSE)
        return make_form_token(key, form.trigger.id, self._clock.now())

    async def check_token(self, form: OpenForm, token: str) -> str:
        """The idempotency key of a submission with a valid token to an open form."""
        check_open(form)
        key = await self._vault.derived_key(PURPOSE)
        return check_form_token(
            key, form.trigger.id, token, self._clock.now(), form.settings.min_seconds
        )

    def validate(self, form: OpenForm, values: Mapping[str, Any]) -> None:
        """Refuse values that the automation would not accept."""
        fixed = form.trigger.inputs
        validate_submission(values, form.settings, form.inputs_schema, fixed, self._limits)

    async def charge(self, form: OpenForm, address: str) -> None:
        """Count a valid submission against the limits of its form."""
        settings, id_ = form.settings, form.trigger.id
        digest = hashlib.sha256(address.encode()).hexdigest()[:32]
        async with self._database.transaction() as tx:
            for key, most in (
                (f"form/{id_}/{digest}", settings.per_address),
                (f"form/{id_}", settings.per_form),
            ):
                wait = await fill_bucket(tx, key, LeakyBucket(most, most / _HOUR))
                if wait is not None:
                    raise _too_many(wait)

    def build_request(
        self,
        form: OpenForm,
        link_token: str,
        nonce: str,
        values: Mapping[str, Any],
        run_id: UUID,
        member: FormMember | None,
    ) -> WebhookRequest:
        """The submission as the request that is dispatched."""
        payload: dict[str, Any] = {
            "values": dict(values),
            "submitted_at": self._clock.now().astimezone(UTC).isoformat(),
        }
        if member is not None:
            payload["member"] = member.as_payload()
        return WebhookRequest(
            form.trigger.automation_id,
            hash_webhook_token(link_token.encode("utf-8", "replace")),
            value=payload,
            identity=[_identify(one) for one in values.items()],
            in_url=True,
            is_form=True,
            idempotency_keys=(f"form-{nonce}",),
            run_id=run_id,
        )


def check_open(form: OpenForm) -> None:
    """Refuse submissions while they would start no run."""
    if not form.trigger.open:
        raise Conflict(
            "This form does not accept submissions at the moment.",
            code="form_closed",
            suggestion="Try again later, or ask the person who sent you the link.",
        )


def check_honeypot(value: Any) -> None:
    """Refuse a submission in which the field was filled in that people do not see."""
    if value not in (None, ""):
        raise Invalid(
            "This submission looks automated.",
            code="form_spam",
            suggestion="Leave the hidden field empty.",
        )


def _identify(entry: tuple[str, Any]) -> list[Any]:
    """A field of a submission; a file that is sent again has another id, and the same content."""
    name, value = entry
    if isinstance(value, Mapping) and "artifact_id" in value:
        value = {key: one for key, one in value.items() if key != "artifact_id"}
    return [name, value]


def _too_many(seconds: float) -> LimitExceeded:
    return LimitExceeded(
        "This form was sent too often.",
        code="too_many_submissions",
        suggestion="Wait, and send it again.",
        retry_after=round(seconds, 3),
    )
