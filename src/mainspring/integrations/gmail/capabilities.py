"""Gmail capability ``gmail.send_email``, after approval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.errors import Invalid, NotFound, Problem
from mainspring.contracts.integration import WriteOffer
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import describe_mail
from mainspring.integrations.gmail.client import Gmail
from mainspring.integrations.gmail.compose import (
    CALL_HEADER,
    MOST_RECIPIENTS,
    ReplyTarget,
    build_call_id,
    build_sent_search,
    check_mail,
    compose_mail,
    find_mail_problems,
    find_reply_target,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

EDITABLE: Final = ("to", "cc", "bcc", "subject", "body")
_SEND_SCOPE: Final = "https://www.googleapis.com/auth/gmail.send"
_SHOWN_RECIPIENTS: Final = 3
_SHOWN_TEXT: Final = 200
# Five files of ten megabytes as base64, and the mail around them.
_ARGUMENTS_BYTES: Final = 75_000_000
_ONE_LINE: Final = r"^[^\x00-\x1f\x7f]*$"


def send_email(gmail: Gmail) -> Capability:
    """Build the capability."""

    async def send(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_mail(arguments)
        account = "" if ctx.account is None else ctx.account.account
        call = build_call_id(ctx.key)
        sent, before = await _before_sending(gmail, ctx, arguments, call)
        if sent is not None:
            return {"message_id": sent}
        try:
            message = compose_mail(arguments, call, account if "@" in account else "", before)
        except ValueError as error:
            raise Invalid(
                "The mail cannot be written: a part of it holds signs that no header takes.",
                code="mail_header",
                unsent=True,
            ) from error
        boundary = "mainspring-" + hashlib.sha256(message).hexdigest()[:32]
        return {
            "message_id": await gmail.send(ctx.http, message, arguments.get("thread_id"), boundary)
        }

    return Capability(
        id="gmail.send_email",
        description="Send an email from Gmail\n\n"
        "Sends one email from the connected mailbox, after a person approves it. With "
        "thread_id it replies in that thread.",
        input_schema=INPUT,
        output_schema=_OUTPUT,
        handler=send,
        write=Write(
            preview=preview,
            editable=EDITABLE,
            wording=("subject", "body"),
            destination=("to", "cc", "bcc", "thread_id"),
            family="email",
            describe=lambda config: describe_mail(config, "gmail"),
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=3.0,
            hosts=gmail.hosts,
            route=ConnectionRoute("gmail", gmail.hosts, scopes=frozenset({_SEND_SCOPE})),
            arguments_bytes=_ARGUMENTS_BYTES,
            judge=find_mail_problems,
        ),
    )


def send_offer() -> WriteOffer:
    """The same mail for act_on_integration."""
    return WriteOffer("gmail.send_email", INPUT, dict, name="send_email", editable=EDITABLE)


async def _before_sending(
    gmail: Gmail, ctx: CallContext, arguments: Mapping[str, Any], call: str
) -> tuple[str | None, ReplyTarget | None]:
    """Check whether an earlier attempt sent this mail, and find the message it replies to.
    Nothing is sent."""
    thread_id = arguments.get("thread_id")
    try:
        if ctx.repeated:
            search = build_sent_search(ctx.key, arguments)
            sent = await gmail.find_sent(ctx.http, search, CALL_HEADER, call)
            if sent is not None:
                return sent, None
        if thread_id is None:
            return None, None
        return None, find_reply_target(await gmail.outline(ctx.http, thread_id))
    except NotFound as problem:
        detail = "There is no such thread in this mailbox."
        raise NotFound(detail, code="thread_missing", unsent=True) from problem
    except Problem as problem:
        problem.unsent = True
        raise


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview in one line: recipients first, so that no text can push them out of view."""
    everybody = [
        format_first_line(one, 254) + (" (bcc)" if name == "bcc" else "")
        for name in ("to", "cc", "bcc")
        for one in arguments.get(name, ())
    ]
    named = ", ".join(everybody[:_SHOWN_RECIPIENTS])
    more = len(everybody) - _SHOWN_RECIPIENTS
    others = f" and {more} more" if more > 0 else ""
    files = len(arguments.get("attachments", ()))
    along = "" if not files else f" with {files} attachment{'s' if files > 1 else ''}"
    where = " in an existing thread" if "thread_id" in arguments else ""
    subject = format_first_line(arguments["subject"], 150)
    text = format_first_line(arguments["body"], _SHOWN_TEXT)
    return f"Send from Gmail to {named}{others}{where}{along} “{subject}”: {text}"


_ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "format": "idn-email",
    # The format alone would accept a display name with the address.
    "pattern": r"^[^\s<>\"(),;:]+$",
    "x-mainspring-says": "This must be a mail address alone, without a name.",
    "minLength": 3,
    "maxLength": 254,
}
_PEOPLE: Final[dict[str, Any]] = {
    "type": "array",
    "description": "Addresses without names, such as ada@example.com.",
    "maxItems": MOST_RECIPIENTS,
    "items": _ADDRESS,
}
_FILE: Final = build_object_part(
    {
        "filename": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "pattern": _ONE_LINE,
            "x-mainspring-says": "This must be the name of a file, on one line.",
        },
        "content_base64": {
            "type": "string",
            "description": "At most 10 MB.",
            "maxLength": 14_000_000,
        },
        "mime_type": {
            "type": "string",
            "maxLength": 100,
            "pattern": r"^[A-Za-z0-9.+_-]+/[A-Za-z0-9.+_-]+$",
            "x-mainspring-says": "This must be a type such as application/pdf.",
        },
    },
    ["filename", "content_base64"],
)
INPUT: Final = build_object_schema(
    {
        "to": {**_PEOPLE, "minItems": 1},
        "cc": _PEOPLE,
        "bcc": {**_PEOPLE},
        "subject": {
            "type": "string",
            "minLength": 1,
            "maxLength": 998,
            "pattern": _ONE_LINE,
            "x-mainspring-says": "A subject is one line.",
        },
        "body": {"type": "string", "description": "Plain text.", "maxLength": 500_000},
        "thread_id": {
            "type": "string",
            "description": "Thread to reply to. Default: a new thread.",
            "minLength": 1,
            "maxLength": 64,
            "pattern": r"^[A-Za-z0-9_-]+$",
            "x-mainspring-says": "This must be the id of a thread of Gmail.",
        },
        "attachments": {"type": "array", "maxItems": 5, "items": _FILE},
    },
    ["to", "subject", "body"],
    [
        {
            "to": ["noah@example.com"],
            "subject": "Re: next week",
            "body": "We're in. Let me know what day works.",
            "thread_id": "18c2a1f0b3d4e5f6",
        },
        {
            "to": ["ada@example.com"],
            "cc": ["team@example.com"],
            "bcc": ["archive@example.com"],
            "subject": "Report for {{ inputs.week }}",
            "body": "{{ steps.report.text }}",
            "attachments": [
                {"filename": "a.txt", "content_base64": "SGVsbG8=", "mime_type": "text/plain"}
            ],
        },
    ],
    [
        ({"subject": "x", "body": "y"}, "no one to send it to"),
        ({"to": "ada@example.com", "subject": "x", "body": "y"}, "to is a list, also for one"),
        ({"to": ["ada"], "subject": "x", "body": "y"}, "not an address"),
        (
            {"to": ["Ada <ada@example.com>"], "subject": "x", "body": "y"},
            "addresses stand without names",
        ),
        (
            {"to": ["ada@example.com"], "subject": "x\r\nBcc: eve@example.com", "body": "y"},
            "a subject is one line",
        ),
        ({"to": ["ada@example.com"], "subject": "x", "text": "y"}, "the text is called body"),
        (
            {
                "to": ["ada@example.com"],
                "subject": "x",
                "body": "y",
                "attachments": [{"filename": "a\nb", "content_base64": ""}],
            },
            "the name of a file is one line",
        ),
    ],
)
_OUTPUT: Final = build_object_schema(
    {"message_id": {"type": "string", "description": "Gmail's message id."}},
    ["message_id"],
    [{"message_id": "18c2a1f0b3d4e5f6"}],
    [({}, "what was sent has an id")],
)
