"""``email.notify_owner``: a mail to the automation's owner.

No argument chooses the recipient, so it is a safe write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext, Mail
from mainspring.contracts.display_text import escape_invisible, format_first_line
from mainspring.contracts.errors import NotFound
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription

_SUBJECT = 200
_TEXT = 10_000


async def _notify(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    owner = await ctx.owner_address()
    if owner is None:
        raise NotFound(
            "The owner has no verified mail address, so this cannot be mailed.",
            code="owner_mail_missing",
            suggestion="The owner sets and verifies an email on the page under Settings, or with "
            "`mainspring email set`; for the first person an operator may set "
            "MAINSPRING_OWNER_MAIL.",
        )
    mail = Mail(to=(owner,), subject=arguments["subject"], text=arguments["text"])
    receipt = await ctx.mail.send(mail, key=ctx.key)
    return {"message_id": receipt.message_id}


def _preview(arguments: Mapping[str, Any]) -> str:
    subject, text = escape_invisible(arguments["subject"]), format_first_line(arguments["text"])
    return f"Mail to the owner “{subject}”: {text}"


_INPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["subject", "text"],
    "properties": {
        "subject": {"type": "string", "minLength": 1, "maxLength": _SUBJECT},
        "text": {
            "type": "string",
            "description": "Plain text.",
            "minLength": 1,
            "maxLength": _TEXT,
        },
    },
    "examples": [{"subject": "The import is done", "text": "{{ steps.import.rows }} rows are in."}],
    "x-mainspring-anti-examples": [
        {"value": {"subject": "Done"}, "reason": "a mail says something"},
        {"value": {"subject": "", "text": "x"}, "reason": "a mail has a subject"},
        {
            "value": {"to": ["ada@example.com"], "subject": "Done", "text": "x"},
            "reason": "it goes to the owner and no one else; send_email mails other people",
        },
    ],
}

_OUTPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["message_id"],
    "properties": {
        "message_id": {
            "type": "string",
            "description": "Message-ID; a repeated call has the same one.",
        }
    },
    "examples": [{"message_id": "<0f2a6c1be0d94c0f8f0c6a4c1f3d5e77@example.com>"}],
    "x-mainspring-anti-examples": [
        {"value": {"accepted": []}, "reason": "the mail's own name is always told"}
    ],
}


def describe_owner_mail(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a mail that reaches only the owner."""
    del config
    return WriteDescription("mail", "its owner", ("subject", "text"))


NOTIFY_OWNER = Capability(
    id="email.notify_owner",
    description="Email the owner of the automation\n\n"
    "Sends a short email to the automation's owner only; called without a run, to "
    "you. It is on the safe list: auto_confirm_safe sends it without review.",
    input_schema=_INPUT,
    output_schema=_OUTPUT,
    handler=_notify,
    write=Write(
        preview=_preview,
        editable=("subject", "text"),
        safe=True,
        sent_by_default=True,
        family="email",
        describe=describe_owner_mail,
    ),
    annotations=Annotations(toolset=Toolset.SERVICES, effect=Effect.SEND, seconds=2.0),
)
