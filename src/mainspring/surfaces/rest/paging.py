"""Cursor pagination.

A page ends with a cursor: the id of its last entry, which the caller sends back unchanged. Ids are
ordered by creation time, so concurrent inserts and deletes do not shift pages.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

Item = TypeVar("Item")

PAGE: Final = 50
LARGEST_PAGE: Final = 200
_SENTENCE: Final = "This is not a cursor. Use the value of 'next', or leave it out."


class Page(BaseModel, Generic[Item]):
    """Some entries of a list, and where it goes on."""

    model_config = ConfigDict(extra="forbid")

    items: list[Item]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


def write_cursor(last: UUID) -> str:
    return base64.urlsafe_b64encode(last.bytes).rstrip(b"=").decode()


def read_cursor(text: Any) -> UUID | None:
    """The id in a cursor; there is one encoding for each."""
    if text is None or isinstance(text, UUID):
        return text
    try:
        made = UUID(bytes=base64.urlsafe_b64decode(str(text) + "=="))
    except (ValueError, binascii.Error):
        made = None
    if made is None or write_cursor(made) != text:
        raise PydanticCustomError("cursor", _SENTENCE)
    return made


Cursor = Annotated[
    UUID | None,
    BeforeValidator(read_cursor),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9_-]{21}[AQgw]$"}),
    Query(description="Where to go on: the 'next' of the page before."),
]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="The most entries to return.")]


def page(
    rows: Sequence[Any],
    limit: int,
    show: Callable[[Any], Mapping[str, Any]] = dict,
    key: str = "id",
) -> dict[str, Any]:
    """A page of rows that were read with ``limit + 1``: the extra one shows that more follow."""
    shown = rows[:limit]
    more = len(rows) > limit
    return {
        "items": [show(row) for row in shown],
        "next": write_cursor(shown[-1][key]) if more else None,
    }
