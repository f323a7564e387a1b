"""``webhook``: the tokens with which outside systems call."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as url_quote

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

_SIMPLE_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*)+")
_EXAMPLES = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


async def make_token(
    context: CommandContext,
    screen: Screen,
    text: str,
    slug: str | None,
    *,
    sure: bool = False,
    overlap: int = 0,
) -> int:
    """A new token in place of the old one, shown this once."""
    async with open_client(context) as client:
        found = await find_in_use_at(client, text)
        trigger = await find_webhook(client, found, slug)
        slug, old = trigger["slug"], (trigger["token"] or {}).get("hint")
        if old and not sure and not overlap and not _agreed(screen, slug, old):
            screen.say("The token stays as it is.")
            return exits.FAILED
        now = await client.request("GET", f"/automations/{found['id']}")
        query = {"overlap_seconds": overlap}
        made = await client.request("POST", _token_path(found, slug), query=query)
    plain, ending, url = made["token"], made["hint"], made["url"]
    until = made["old_until"] and datetime.fromisoformat(made["old_until"])
    in_url = plain in url
    if screen.for_programs:
        told = {"id": found["id"], "slug": slug, "token": plain, "hint": ending, "url": url}
        screen.answer({**told, "ended": old})
        return exits.DONE
    screen.say(
        f"New token of the webhook {slug}. It is not shown again:",
        f"  {plain}",
        *([_describe_end(old, until)] if old else []),
        "Try it:",
        f"  curl -X POST {quote(url)}"
        + ("" if in_url else f" -H 'Authorization: Bearer {plain}'")
        + f" -H 'Content-Type: application/json' -d {quote(clean(_sample(trigger, now)))}",
    )
    if found["state"] != "active":
        screen.say(
            f"{one_line(found['name'])} is {found['state']}: calls start nothing before",
            f"  {hint('activate', found['name'])}",
        )
    return exits.DONE


def _describe_end(old: str, until: datetime | None) -> str:
    if until is None:
        return f"The token …{old} no longer works."
    return f"The token …{old} works until {until:%Y-%m-%d %H:%M} UTC."


def _agreed(screen: Screen, slug: str, old: str) -> bool:
    """A person is asked before callers are shut out; nobody else can be."""
    if screen.for_programs or not sys.stdin.isatty() or not sys.stdout.isatty():
        raise Conflict(
            f"The webhook {slug} has a token (…{old}), which a new one would invalidate "
            f"immediately.",
            code="token_in_use",
            suggestion="Say --yes to end it.",
        )
    import typer

    return typer.confirm(f"The token …{old} of {slug} stops working immediately. Create a new one?")


def _sample(trigger: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """A body in which everything stands that the trigger's mapping looks for."""
    mapping = trigger["config"].get("input_mapping") or {}
    shape = (now["definition"].get("inputs") or {}).get("schema") or {}
    inputs = shape.get("properties") or {}
    body: dict[str, Any] = {}
    for name, path in mapping.items():
        if isinstance(path, str) and _SIMPLE_PATH.fullmatch(path):
            _put(body, path.split(".")[1:], _example(inputs.get(name)))
    return as_json(body, indent=None)


def _put(body: dict[str, Any], keys: list[str], value: Any) -> None:
    *above, last = keys
    for key in above:
        inner = body.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        body = inner
    body.setdefault(last, value)


def _example(entry: Any) -> Any:
    entry = entry if isinstance(entry, Mapping) else {}
    if entry.get("enum"):
        return entry["enum"][0]
    kind = entry.get("type")
    return _EXAMPLES.get(kind, "…") if isinstance(kind, str) else "…"


def _token_path(found: Mapping[str, Any], slug: str) -> str:
    return f"/automations/{found['id']}/triggers/{url_quote(slug, safe='')}/token"


async def end_token(context: CommandContext, screen: Screen, text: str, slug: str | None) -> int:
    """Nobody can call the webhook with a token until there is a new one."""
    async with open_client(context) as client:
        found = await find_in_use_at(client, text)
        slug = str((await find_webhook(client, found, slug))["slug"])
        await client.request("DELETE", _token_path(found, slug))
    if screen.for_programs:
        screen.answer({"id": found["id"], "slug": slug, "revoked": True})
    else:
        screen.say(f"The webhook {slug} of {one_line(found['name'])} has no token any more.")
    return exits.DONE


async def find_webhook(
    client: ApiClient, found: Mapping[str, Any], slug: str | None
) -> Mapping[str, Any]:
    """The trigger that is meant; it need not be said when there is one webhook only."""
    listed = await client.request("GET", f"/automations/{found['id']}/triggers")
    rows: list[dict[str, Any]] = listed["items"]
    hooks = {str(row["slug"]): row for row in rows if row["type"] == "webhook"}
    if slug is None and len(hooks) == 1:
        return next(iter(hooks.values()))
    if not hooks:
        raise Conflict(
            f"{found['name'][:60]!r} has no webhook.",
            code="not_a_webhook",
            suggestion="Add a trigger of the type webhook to its definition and save it.",
        )
    if slug in hooks:
        return hooks[slug]
    known = ", ".join(hooks)
    if slug is None:
        raise Conflict(
            f"{found['name'][:60]!r} has {len(hooks)} webhooks.",
            code="several_webhooks",
            suggestion=f"Say which one: {known}.",
        )
    raise NotFound(
        f"{found['name'][:60]!r} has no webhook called {slug[:60]!r}.",
        code="no_trigger",
        suggestion=suggest_nearest(slug, hooks) or f"It has {known}.",
    )
