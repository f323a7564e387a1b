"""``webhook``: the tokens with which outside systems call."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.definition.suggestions import suggest_nearest
from mainspring.definition.validate import read_definition
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_in_use
from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line
from mainspring.surfaces.cli.server_presence import fire_url
from mainspring.triggers.webhook_signatures import read_auth
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import read_triggers
from mainspring.workspace.webhooks import read_overlap, revoke, rotate

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

_SIMPLE_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*)+")
_EXAMPLES = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


async def make_token(
    desk: CommandContext,
    screen: Screen,
    text: str,
    slug: str | None,
    *,
    sure: bool = False,
    overlap: int = 0,
) -> int:
    """A new token in place of the old one, shown this once."""
    async with desk.doors.open(desk.settings()) as services:
        found = await find_in_use(services, text)
        trigger = await find_webhook(services, found, slug)
        slug, old = trigger["slug"], trigger["secret_hint"]
        if old and not sure and not overlap and not _agreed(screen, slug, old):
            screen.say("The token stays as it is.")
            return exits.FAILED
        async with local(services).acquire() as connection:
            now = await read_automation(connection, services.workspace_id, found["id"])
        deed = AuditedAction("make_webhook_token", f"{found['id']}/{slug}")
        async with local(services, deed).transaction() as tx:
            maker = local_owner(services).id
            where = (services.workspace_id, found["id"], slug)
            ending, plain = await rotate(tx, *where, maker, overlap_seconds=overlap)
            deed.detail["hint"] = ending
            until = await read_overlap(tx, *where)
        url = fire_url(services.settings, found["id"])
        in_url = read_auth(trigger["config"]).type == "secret_url"
        if in_url:
            url = f"{url.partition('/api/v1/')[0]}/api/v1/hooks/{plain}"
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
    return typer.confirm(f"The token …{old} of {slug} stops working immediately. Create a new one?")


def _sample(trigger: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """A body in which everything stands that the trigger's mapping looks for."""
    mapping = trigger["config"].get("input_mapping") or {}
    inputs = read_definition(now["definition"]).inputs.shape.get("properties") or {}
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


async def end_token(context: CommandContext, screen: Screen, text: str, slug: str | None) -> int:
    """Nobody can call the webhook with a token until there is a new one."""
    async with context.doors.open(context.settings()) as services:
        found = await find_in_use(services, text)
        slug = (await find_webhook(services, found, slug))["slug"]
        deed = AuditedAction("end_webhook_token", f"{found['id']}/{slug}")
        async with local(services, deed).transaction() as tx:
            await revoke(tx, services.workspace_id, found["id"], slug)
    if screen.for_programs:
        screen.answer({"id": found["id"], "slug": slug, "revoked": True})
    else:
        screen.say(f"The webhook {slug} of {one_line(found['name'])} has no token any more.")
    return exits.DONE


async def find_webhook(
    services: ApplicationServices, found: Mapping[str, Any], slug: str | None
) -> Mapping[str, Any]:
    """The trigger that is meant; it need not be said when there is one webhook only."""
    async with local(services).acquire() as connection:
        rows = await read_triggers(connection, services.workspace_id, found["id"])
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
