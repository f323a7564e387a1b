"""E-mail capability ``send_email``, after approval."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import (
    MAIL_FILE_BYTES,
    MAIL_FILES,
    MAIL_RECIPIENTS,
    MAIL_SUBJECT,
    CallContext,
    Mail,
    MailAttachment,
)
from mainspring.contracts.display_text import escape_invisible, format_first_line
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import describe_mail

_TEXT = 500_000
_SHOWN_RECIPIENTS = 3
# Base64 length.
_SIGNS = (MAIL_FILE_BYTES + 2) // 3 * 4
_ADDRESS: dict[str, Any] = {
    "type": "string",
    "format": "idn-email",
    # The format alone would accept a display name with the address.
    "pattern": r"^[^\s<>\"(),;:]+$",
    "x-mainspring-says": "This must be a mail address alone, without a name.",
    "minLength": 3,
    "maxLength": 254,
}


async def _send(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    mail = Mail(
        to=tuple(arguments["to"]),
        cc=tuple(arguments.get("cc", ())),
        subject=arguments["subject"],
        text=arguments["text"],
        html=arguments.get("html"),
        reply_to=arguments.get("reply_to"),
        bcc=tuple(arguments.get("bcc", ())),
        attachments=tuple(_attachments(arguments)),
    )
    receipt = await ctx.mail.send(mail, key=ctx.key)
    return {
        "message_id": receipt.message_id,
        "accepted": list(receipt.accepted),
        "refused": [
            {"address": address, "reason": reason} for address, reason in receipt.refused.items()
        ],
    }


def _attachments(arguments: Mapping[str, Any]) -> Iterator[MailAttachment]:
    for place, one in enumerate(arguments.get("attachments", ())):
        try:
            content = base64.b64decode(one["content_base64"], validate=True)
        except (binascii.Error, ValueError):
            detail = "This is not base64."
            where = f"/attachments/{place}/content_base64"
            raise Invalid(
                f"This mail cannot be sent: {detail}",
                code="mail_invalid",
                findings=[Finding(where, detail, "mail_files")],
            ) from None
        kind = one.get("mime_type") or mimetypes.guess_type(one["filename"])[0]
        yield MailAttachment(one["filename"], content, kind or "application/octet-stream")


def _list_recipients(arguments: Mapping[str, Any]) -> list[str]:
    hidden = [f"{escape_invisible(one)} (bcc)" for one in arguments.get("bcc", ())]
    return [*map(escape_invisible, (*arguments["to"], *arguments.get("cc", ()))), *hidden]


def _beside(arguments: Mapping[str, Any]) -> str:
    """Describe what a recipient sees or can do beyond the text."""
    back = arguments.get("reply_to")
    html = arguments.get("html")
    return (f" (answers go to {escape_invisible(back)})" if back else "") + (
        f" (and as HTML: {format_first_line(html)})" if html else ""
    )


def _everybody(arguments: Mapping[str, Any]) -> list[str]:
    return [*arguments["to"], *arguments.get("cc", ()), *arguments.get("bcc", ())]


def _with_files(arguments: Mapping[str, Any]) -> str:
    names = [
        format_first_line(str(one["filename"]), 60) for one in arguments.get("attachments", ())
    ]
    return f" with {', '.join(names)}" if names else ""


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview in one line: recipients first, so that no text can push them out of view."""
    everybody = _list_recipients(arguments)
    named = ", ".join(everybody[:_SHOWN_RECIPIENTS])
    more = len(everybody) - _SHOWN_RECIPIENTS
    others = f" and {more} more" if more > 0 else ""
    subject, text = escape_invisible(arguments["subject"]), format_first_line(arguments["text"])
    message = f"Send to {named}{others}{_with_files(arguments)} “{subject}”: {text}"
    return message + _beside(arguments)


def _pretend_sending(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The response of a mail server that accepts all recipients."""
    everybody = _everybody(arguments)
    return {"message_id": "<not-sent@example.com>", "accepted": everybody, "refused": []}


_INPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["to", "subject", "text"],
    "properties": {
        "to": {
            "type": "array",
            "description": "Addresses without names, such as ada@example.com.",
            "minItems": 1,
            "maxItems": MAIL_RECIPIENTS,
            "items": _ADDRESS,
        },
        "cc": {
            "type": "array",
            "description": f"to, cc and bcc: at most {MAIL_RECIPIENTS} recipients.",
            "maxItems": MAIL_RECIPIENTS,
            "items": _ADDRESS,
        },
        "bcc": {
            "type": "array",
            "maxItems": MAIL_RECIPIENTS,
            "items": _ADDRESS,
        },
        "subject": {"type": "string", "minLength": 1, "maxLength": MAIL_SUBJECT},
        "text": {
            "type": "string",
            "description": "Plain text, always shown as the fallback.",
            "maxLength": _TEXT,
        },
        "html": {
            "type": "string",
            "description": "The same email as HTML.",
            "minLength": 1,
            "maxLength": _TEXT,
        },
        "reply_to": {**_ADDRESS, "description": "Default: the sender."},
        "attachments": {
            "type": "array",
            "description": f"Each at most {MAIL_FILE_BYTES} bytes.",
            "maxItems": MAIL_FILES,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["filename", "content_base64"],
                "properties": {
                    "filename": {
                        "type": "string",
                        "maxLength": 200,
                        "pattern": r"^[^/\x00-\x1f\x7f]*[^/\x00-\x20\x7f][^/\x00-\x1f\x7f]*$",
                        "x-mainspring-says": "This must be the name of a file, without a slash.",
                    },
                    "content_base64": {"type": "string", "minLength": 1, "maxLength": _SIGNS},
                    "mime_type": {
                        "type": "string",
                        "maxLength": 160,
                        "pattern": r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$",
                        "x-mainspring-says": "This must be a kind such as application/pdf.",
                    },
                },
            },
        },
    },
    "examples": [
        {"to": ["ada@example.com"], "subject": "Weekly report", "text": "All is well."},
        {
            "to": ["ada@example.com", "grace@example.com"],
            "cc": ["team@example.com"],
            "subject": "Report for {{ inputs.week }}",
            "text": "{{ steps.report.text }}",
            "html": '<p>The report is <a href="{{ steps.report.url }}">here</a>.</p>',
            "reply_to": "office@example.com",
        },
        {
            "to": ["ada@example.com"],
            "bcc": ["archive@example.com"],
            "subject": "The numbers",
            "text": "They are in the file.",
            "attachments": [{"filename": "numbers.csv", "content_base64": "YSxiCjEsMgo="}],
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"subject": "x", "text": "y"}, "reason": "no one to send it to"},
        {"value": {"to": [], "subject": "x", "text": "y"}, "reason": "no one to send it to"},
        {
            "value": {"to": "ada@example.com", "subject": "x", "text": "y"},
            "reason": "to is a list, also for one",
        },
        {"value": {"to": ["ada"], "subject": "x", "text": "y"}, "reason": "not an address"},
        {
            "value": {"to": ["Ada <ada@example.com>"], "subject": "x", "text": "y"},
            "reason": "addresses stand without names",
        },
        {
            "value": {"to": ["ada@example.com"], "subject": "", "text": "y"},
            "reason": "a mail without a subject is taken for junk",
        },
        {
            "value": {"to": ["ada@example.com"], "subject": "x", "html": "<p>y</p>"},
            "reason": "HTML alone leaves out those who read text",
        },
        {
            "value": {"to": ["ada@example.com"], "subject": "x", "body": "y"},
            "reason": "the body is called text",
        },
        {
            "value": {
                "to": ["ada@example.com"],
                "from": "b@example.com",
                "subject": "x",
                "text": "y",
            },
            "reason": "the operator says who mail is from",
        },
        {
            "value": {
                "to": ["ada@example.com"],
                "subject": "x",
                "text": "y",
                "attachments": [{"filename": "../a.txt", "content_base64": "YQ=="}],
            },
            "reason": "a file has a name and no path",
        },
    ],
}

_OUTPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["message_id", "accepted", "refused"],
    "properties": {
        "message_id": {
            "type": "string",
            "description": "Message-ID; a repeated call has the same one.",
        },
        "accepted": {
            "type": "array",
            "description": "Recipients that the mail server accepted.",
            "items": {"type": "string"},
        },
        "refused": {
            "type": "array",
            "description": "Recipients that it refused.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["address", "reason"],
                "properties": {"address": {"type": "string"}, "reason": {"type": "string"}},
            },
        },
    },
    "examples": [
        {
            "message_id": "<0f2a6c1be0d94c0f8f0c6a4c1f3d5e77@example.com>",
            "accepted": ["ada@example.com"],
            "refused": [{"address": "gone@example.com", "reason": "550 5.1.1 No such user"}],
        }
    ],
    "x-mainspring-anti-examples": [
        {"value": {"message_id": "<1@example.com>"}, "reason": "who was refused is always told"}
    ],
}

SEND_EMAIL = Capability(
    id="send_email",
    description="Send an email\n\n"
    "Sends one email through the operator's mail server and sender address, after a "
    "person approves it.",
    input_schema=_INPUT,
    output_schema=_OUTPUT,
    handler=_send,
    write=Write(
        preview=preview,
        editable=("to", "cc", "bcc", "subject", "text", "html"),
        wording=("subject", "text", "html"),
        destination=("to", "cc", "bcc", "reply_to"),
        family="email",
        describe=describe_mail,
    ),
    annotations=Annotations(
        toolset=Toolset.SERVICES,
        default_tool=True,
        effect=Effect.SEND,
        seconds=2.0,
        stub=_pretend_sending,
        arguments_bytes=MAIL_FILES * _SIGNS + 1_048_576,
    ),
)
