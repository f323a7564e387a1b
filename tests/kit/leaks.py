"""Looking for secrets where none may be: in every column, file, log line and answer.

The spellings are made here once more, by other means than the product's own, so that a hole
in the product's list shows.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from mainspring.store.database import Database

# Fewer signs than this are found in ordinary text by chance.
LEAST = 5
_ENOUGH = 10
_COLUMNS = """
    SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
    ORDER BY c.table_name, c.ordinal_position
"""


def spellings(value: str) -> dict[str, str]:
    """A value as others write it, by the name of the way; each once."""
    raw = value.encode()
    made = {
        "plain": value,
        "reversed": value[::-1],
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "url": quote(value, safe=""),
        "form": quote_plus(value),
        "path": quote(value),
        "json": json.dumps(value)[1:-1],
        "json as it is": json.dumps(value, ensure_ascii=False)[1:-1],
        "json in json": json.dumps(json.dumps(value))[3:-3],
    }
    for offset in range(3):
        once = _inside(raw, offset)
        made[f"base64 {offset}"] = once
        made[f"base64url {offset}"] = once.replace("+", "-").replace("/", "_")
        for again in range(3):
            made[f"base64 {offset}, {again}"] = _inside(once.encode(), again)
    once_only: dict[str, str] = {}
    for name, text in made.items():
        if (len(text) >= LEAST or name == "plain") and text not in once_only.values():
            once_only[name] = text
    return once_only


def _inside(raw: bytes, offset: int) -> str:
    """The signs of a base64 text that a value fixes, when it begins at this offset."""
    first = binascii.b2a_base64(b"a" * offset + raw + b"a" * 3, newline=False)
    other = binascii.b2a_base64(b"z" * offset + raw + b"z" * 3, newline=False)
    same = [a == b for a, b in zip(first, other, strict=True)]
    begin = same.index(True)
    end = begin
    while end < len(same) and same[end]:
        end += 1
    return first[begin:end].decode()


def echoes(value: str) -> dict[str, str]:
    """Whole texts in which an upstream hands a value back."""
    raw = value.encode()
    shown = {f"s{place}": text for place, text in enumerate(spellings(value).values())}
    for offset in range(3):
        around = b"x" * offset + raw + b" and more"
        once = base64.b64encode(around)
        shown[f"b{offset}"] = once.decode()
        shown[f"u{offset}"] = base64.urlsafe_b64encode(around).decode()
        shown[f"bb{offset}"] = base64.b64encode(once).decode()
    return shown


class Haystack:
    """Everything that somebody could read, piece by piece, with where it was found."""

    def __init__(self) -> None:
        self._pieces: dict[str, str] = {}

    def add(self, where: str, text: str) -> None:
        self._pieces.setdefault(text, where)

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def __contains__(self, text: str) -> bool:
        return any(text in piece for piece in self._pieces)

    def found(self, values: Mapping[str, str]) -> list[str]:
        """Places that hold a value in any spelling; the first few are enough."""
        whole = "\n".join(self._pieces)
        hits = (
            (name, way, text)
            for name, value in values.items()
            for way, text in spellings(value).items()
            if text in whole
        )
        return [
            f"{name} ({way}) in {where}: …{_around(piece, text)}…"
            for name, way, text in islice(hits, _ENOUGH)
            for piece, where in self._pieces.items()
            if text in piece
        ]


def _around(piece: str, text: str) -> str:
    at = piece.index(text)
    return piece[max(0, at - 60) : at + len(text) + 20]


async def add_tables(hay: Haystack, database: Database) -> int:
    """Every column of every table, as text, as bytes and with its JSON taken apart."""
    columns = await database.fetch(_COLUMNS)
    for column in columns:
        table, name = column["table_name"], column["column_name"]
        rows = await database.fetch(
            f'SELECT DISTINCT "{name}"::text AS one FROM "{table}" WHERE "{name}" IS NOT NULL'
        )
        for row in rows:
            hay.add(f"{table}.{name}", row["one"])
            if column["data_type"] == "bytea":
                raw = bytes.fromhex(row["one"][2:])
                hay.add(f"{table}.{name}", raw.decode("utf-8", "replace"))
            elif column["data_type"] in ("json", "jsonb"):
                add_json(hay, f"{table}.{name}", row["one"])
    return len(columns)


def add_json(hay: Haystack, where: str, text: str) -> None:
    """A JSON text as it is, and each of its strings as a reader sees it."""
    hay.add(where, text)
    for piece in _strings(json.loads(text)):
        hay.add(where, piece)


def add_files(hay: Haystack, folder: Path, *, leave_out: Iterable[str] = ()) -> int:
    """Every file below a folder, with its name."""
    count = 0
    for base, _, names in os.walk(folder):
        for name in names:
            if name not in leave_out:
                path = Path(base) / name
                hay.add(f"the file {path}", path.read_bytes().decode("utf-8", "replace"))
                hay.add("the name of a file", str(path))
                count += 1
    return count


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from _strings(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)
