"""monday.com's GraphQL API on loopback: boards with columns and items, read by cursors."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJ0aWQiOjF9.c2lnbmF0dXJl"
_FIELD = re.compile(r"\b(me|boards|next_items_page|create_update)\b\s*[({]")
_DECLARED = re.compile(r"\$(\w+): (\[?\w+!?\]?!?)")
# The OAuth scope that each part of a document needs.
_SCOPES = {
    "me": "me:read",
    "account": "account:read",
    "boards": "boards:read",
    "next_items_page": "boards:read",
    "create_update": "updates:write",
}
_SCOPED = re.compile(rf"\b({'|'.join(_SCOPES)})\b\s*[({{]")
COLUMNS = [
    {"id": "name", "title": "Name", "type": "name"},
    {"id": "status", "title": "Status", "type": "status"},
    {"id": "date4", "title": "Due date", "type": "date"},
    {"id": "numbers7", "title": "Cost (€)", "type": "numbers"},
    {"id": "check1", "title": "Done?", "type": "checkbox"},
    {"id": "text2", "title": "status", "type": "text"},
    {"id": "mirror3", "title": "State", "type": "mirror"},
]


def answer(value: Any, *headers: str, status: int = 200) -> bytes:
    """An answer in JSON."""
    return http_answer(
        status, json.dumps(value).encode(), "Content-Type: application/json", *headers
    )


def refusal(code: str, message: str, *headers: str, status: int = 200, **more: Any) -> bytes:
    """An error as monday.com tells it since its version 2025-01."""
    error = {"message": message, "path": ["boards"], "extensions": {"code": code, **more}}
    return answer({"data": None, "errors": [error], "account_id": 1}, *headers, status=status)


@dataclass(slots=True)
class MondayDouble(ScriptedDouble):
    """The items of boards, by the number of the board."""

    boards: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # What was agreed to when the connection was made.
    scopes: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        return f"http://{self.pair}/v2"

    def item(self, board: str, number: int, **more: Any) -> dict[str, Any]:
        """An item as monday.com shows it, put on a board."""
        values = {
            "status": "Done",
            "date4": "2026-03-01",
            "numbers7": "12.5",
            "check1": "v",
            "text2": "",
        }
        kinds = {one["id"]: one["type"] for one in COLUMNS}
        shown: dict[str, Any] = {
            "id": str(number),
            "name": f"Item {number}",
            "state": "active",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-02T00:00:00Z",
            "url": f"https://octo.monday.com/boards/{board}/pulses/{number}",
            "group": {"title": "This month"},
            "column_values": [
                *({"id": key, "type": kinds[key], "text": text} for key, text in values.items()),
                {"id": "mirror3", "type": "mirror", "text": None, "display_value": "Upstairs"},
            ],
            **more,
        }
        self.boards.setdefault(board, []).append(shown)
        return shown

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        if not head.startswith(b"POST /v2 HTTP/1.1\r\n"):
            return http_answer(404, b"not found")
        if headers.get("authorization") != TOKEN:
            return answer({"errors": ["Not Authenticated"]}, status=401)
        if not re.fullmatch(r"20\d\d-(01|04|07|10)", headers.get("api-version", "")):
            return refusal("InvalidVersionException", "Invalid API version")
        sent = json.loads(body)
        document, given = sent["query"], sent.get("variables", {})
        declared = dict(_DECLARED.findall(document))
        if document.count("{") != document.count("}") or given.keys() != declared.keys():
            return refusal("undefinedVariable", "Variables are wrong")
        found = _FIELD.search(document)
        assert found is not None
        needed = {_SCOPES[one] for one in _SCOPED.findall(document)}
        if needed - self.scopes:
            return refusal(
                "UserUnauthorizedException",
                f"Missing scopes: {sorted(needed - self.scopes)}",
                status_code=403,
            )
        self.messages.append({"field": found[1], **given})
        return self._answered(found[1], given)

    def _answered(self, named: str, arguments: dict[str, Any]) -> bytes:
        if named == "me":
            me = {"name": "Mona", "email": "mona@octo.example", "account": {"name": "Octo"}}
            return answer({"data": {"me": me}})
        if named == "create_update":
            known = {one["id"] for items in self.boards.values() for one in items}
            if arguments["item"] not in known:
                return refusal("ResourceNotFoundException", "Item not found", status_code=404)
            made = {"id": "3456789012", "item_id": arguments["item"]}
            return answer({"data": {"create_update": made}})
        if named == "next_items_page":
            board, begin = arguments["cursor"].split(":")
            return answer({"data": {named: self._page(board, int(begin), arguments["limit"])}})
        if "page" in arguments:
            begin = (arguments["page"] - 1) * arguments["limit"]
            shown = list(self.boards)[begin : begin + arguments["limit"]]
            return answer({"data": {"boards": [self._board(one) for one in shown]}})
        boards = [
            {
                "id": one,
                "name": "Doors",
                "columns": COLUMNS,
                "items_page": self._page(one, 0, arguments["limit"]),
            }
            for one in arguments["board"]
            if one in self.boards
        ]
        return answer({"data": {"boards": boards}, "account_id": 1})

    def _page(self, board: str, begin: int, limit: int) -> dict[str, Any]:
        end = begin + limit
        cursor = f"{board}:{end}" if end < len(self.boards[board]) else None
        return {"cursor": cursor, "items": self.boards[board][begin:end]}

    def _board(self, board: str) -> dict[str, Any]:
        return {
            "id": board,
            "name": "Doors",
            "state": "active",
            "board_kind": "public",
            "workspace_id": 7,
            "items_count": len(self.boards[board]),
            "updated_at": "2026-01-02T00:00:00Z",
            "url": f"https://octo.monday.com/boards/{board}",
        }


@contextlib.asynccontextmanager
async def monday_double() -> AsyncIterator[MondayDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(MondayDouble()) as double:
        yield double
