"""monday.com capability ``monday.post_update``, after approval.

monday.com parses updates as HTML, so plain text is escaped: it arrives as it was shown. The API
supports no idempotency key.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.monday.client import Monday

_SHOWN: Final = 200
_BODY: Final = 20_000


def post_update(monday: Monday) -> Capability:
    """Build the capability."""

    async def posted(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        item_id = str(arguments["item_id"])
        update_id = await monday.post_update(ctx, item_id, as_html(arguments["body"]))
        return {"update_id": update_id, "item_id": item_id}

    return Capability(
        id="monday.post_update",
        description="Post an update on monday.com\n\n"
        "Posts an update to an item as the connected account, after a person approves "
        "it.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=posted,
        write=Write(
            preview=preview,
            editable=("body",),
            wording=("body",),
            destination=("item_id",),
            family="message",
            describe=describe_update,
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=2.0,
            hosts=monday.hosts,
            route=ConnectionRoute(
                "monday", monday.hosts, "needed", scopes=frozenset({"updates:write"})
            ),
        ),
    )


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the text and its item in one line."""
    text = format_first_line(arguments["body"], _SHOWN)
    return f"Post an update on item {arguments['item_id']} at monday.com: {text}"


def as_html(text: str) -> str:
    """Escape plain text as HTML."""
    return escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>")


_ITEM: Final[dict[str, Any]] = {
    "type": "string",
    "description": "Number of the item, as in the id of its row.",
    "pattern": "^[0-9]{1,18}$",
    "x-mainspring-says": "This must be the number of an item, as text.",
}
_INPUT: Final = build_object_schema(
    {
        "item_id": _ITEM,
        "body": {
            "type": "string",
            "description": "Plain text.",
            "minLength": 1,
            "maxLength": _BODY,
        },
    },
    ["item_id", "body"],
    [
        {"item_id": "1234567890", "body": "The login works again."},
        {"item_id": "1234567890", "body": "{{ steps.report.text }}"},
    ],
    [
        ({"item_id": "1234567890"}, "nothing to say"),
        ({"item_id": "1234567890", "body": ""}, "nothing to say"),
        ({"item_id": "the door", "body": "x"}, "an item is named by its number"),
        ({"item_id": "1", "text": "x"}, "it is called body"),
    ],
)
_OUTPUT: Final = build_object_schema(
    {
        "update_id": {"type": "string", "description": "Number of the update."},
        "item_id": {"type": "string", "description": "Item of the update."},
    },
    ["update_id", "item_id"],
    [{"update_id": "3456789012", "item_id": "1234567890"}],
    [({"item_id": "1234567890"}, "an update that was posted has a number")],
)


def describe_update(config: Mapping[str, Any]) -> WriteDescription:
    """Describe an update by its item."""
    item = config.get("item_id")
    where = f"the monday.com item {quote_values(item)}" if item else "any monday.com item"
    return WriteDescription("post", f"updates to {where}", ("body",), "monday")
