"""Loaded by schemathesis: puts what exists into the places that ask for it, often enough.

Which value is where follows from what was drawn, so the same seed asks the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import schemathesis

Values = Mapping[str, Sequence[Any]]
# Next to the description, in the folder that schemathesis is started in.
FILE: Final = "known.json"
# Somebody outside did not answer, or not in time.
OF_OTHERS: Final = frozenset({502, 504})
# Unauthenticated callers are refused first, also at an address that others may use.
_NOT_LET_IN: Final = frozenset({401, 403})
_WAIT_SECONDS: Final = 10
# Of a hundred places, those that get something real.
_REAL: Final = 65
# Of a hundred bodies, those that begin as an example.
_SHOWN: Final = 35
_TABLES: Final[Mapping[str, str]] = {
    "actor": "members.user_id",
    "approval_id": "approvals.id",
    "approvals": "questions.id",
    "client_id": "mcp_clients.id",
    "connection_id": "mcp_connections.id",
    "created_by": "members.user_id",
    "event_type": "event_types.type",
    "hash": "drafts.hash",
    "invitation_id": "invitations.id",
    "link_id": "board_links.id",
    "member_id": "members.user_id",
    "notification_id": "notifications.id",
    "owner_user_id": "members.user_id",
    "recipe_id": "dataset_recipes.id",
    "rule_id": "standing_rules.id",
    "token_id": "access_tokens.id",
    "up_to": "notifications.id",
    "user_id": "users.id",
    "workspace_id": "workspaces.workspace_id",
    "capability_id": "capabilities.capability_id",
    "message_id": "notifications.id",
    "cursor": "runs.id",
    "after": "boards.id",
}


def _read(name: str) -> dict[str, Any]:
    file = Path(name)
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def _pattern(path: str) -> re.Pattern[str]:
    pieces = re.split(r"\{[^}]+\}", path)
    return re.compile("[^/]+".join(map(re.escape, pieces)))


_KNOWN: Final = _read(FILE)
_TEMPLATES: Final = [
    (_pattern(path), frozenset(item))
    for path, item in _read("openapi.json").get("paths", {}).items()
]
_VALUES: Final[Values] = _KNOWN.get("values", {})


def _dice(*drawn: object) -> int:
    text = json.dumps(drawn, default=repr, sort_keys=True).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big")


def _singular(table: str) -> str:
    return table[:-3] + "y" if table.endswith("ies") else table.removesuffix("s")


def values_for(path: str, name: str, known: Values = _VALUES) -> Sequence[Any]:
    """Values for a placeholder: of the table that the path is about there, if it says so."""
    head, held, _ = path.partition("/{" + name + "}")
    if held:
        table = head.rpartition("/")[2].replace("-", "_")
        for column in (name.removeprefix(f"{_singular(table)}_"), name):
            if f"{table}.{column}" in known:
                return known[f"{table}.{column}"]
    one = name.removesuffix("s") if name.endswith("ids") else name
    if _TABLES.get(one) in known:
        return known[_TABLES[one]]
    if one.endswith("_id") and f"{one[:-3]}s.id" in known:
        return known[f"{one[:-3]}s.id"]
    return ()


def _real(path: str, name: str, drawn: Any) -> Any:
    found = values_for(path, name)
    dice = _dice(path, name, drawn)
    if not found or dice % 100 >= _REAL:
        return drawn
    chosen = found[(dice // 100) % len(found)]
    return [chosen] if name.endswith("ids") else chosen


def _filled(path: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _real(path, name, _filled(path, one)) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(path, one) for one in value]
    return value


def politely(path: str, value: Any, known: Values) -> Any:
    """The same, with something that exists in every place that asks for it."""
    if isinstance(value, list):
        return [politely(path, one, known) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _existing(path, name, one, known) for name, one in value.items()}


def _existing(path: str, name: str, value: Any, known: Values) -> Any:
    found = values_for(path, name, known)
    if not found or isinstance(value, dict):
        return politely(path, value, known)
    chosen = found[_dice(path, name) % len(found)]
    return [chosen] if isinstance(value, list) else chosen


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """An address may fit two templates of the description: what either says of it is described.

    ``GET /drafts/confirm`` is answered as ``GET /drafts/{draft_id}`` says, for an id that is none.
    """
    if type(failure).__name__ == "ServerError":
        # Somebody outside did not answer. That it is described is another check's business.
        return response.status_code not in OF_OTHERS
    if type(failure).__name__ == "UnsupportedMethodResponse":
        if response.status_code in _NOT_LET_IN:
            return False
        asked = {failure.method.lower()}
    elif type(failure).__name__ == "AllowHeaderMismatch" and not failure.missing_methods:
        asked = {one.lower() for one in failure.undocumented_methods}
    else:
        return True
    path = urlsplit(response.request.url).path
    fitting = [methods for pattern, methods in _TEMPLATES if pattern.fullmatch(path)]
    return len(fitting) < 2 or not asked <= set().union(*fitting)


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    if not isinstance(path_parameters, dict):
        return path_parameters
    path = context.operation.path
    return {name: _real(path, name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    return _filled(context.operation.path, query) if isinstance(query, dict) else query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    operation = context.operation
    shown = _KNOWN.get("bodies", {}).get(operation.definition.raw.get("operationId"), ())
    dice = _dice("body", operation.path, body)
    if shown and dice % 100 < _SHOWN:
        body = {**shown[(dice // 100) % len(shown)], **(body if dice % 2 else {})}
    return _filled(operation.path, body)


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Calls of a capability often get arguments that it knows."""
    named = (case.path_parameters or {}).get("capability_id")
    shown = _KNOWN.get("capabilities", {}).get(named) or ()
    if shown and case.method == "POST" and isinstance(case.body, dict):
        dice = _dice("case", named, case.body)
        if dice % 100 < _REAL:
            case.body = _filled(case.path, shown[(dice // 100) % len(shown)])
    operation = case.operation.definition.raw.get("operationId")
    if {named, operation} & set(_KNOWN.get("waiting", ())) and isinstance(case.body, dict):
        # A caller that has halted all work would wait for minutes.
        case.body = {"wait_seconds": _WAIT_SECONDS, **case.body}
    return case
