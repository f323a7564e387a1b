"""Searches in the language of Drive, made from words: no sign of a word can leave its quotes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_NOT_TRASHED: Final = "trashed = false"


def quote_query_text(text: str) -> str:
    """A text as it stands in a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def build_words_query(words: str) -> str:
    """Files that have these words in their name or in their text."""
    said = quote_query_text(" ".join(words.split()))
    return f"(name contains {said} or fullText contains {said}) and {_NOT_TRASHED}"


def build_since_query(moment: datetime) -> str:
    """Files that were changed since a moment."""
    at = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"modifiedTime >= {quote_query_text(at)} and {_NOT_TRASHED}"
