"""Roles: what each may do, and what each route and capability needs."""

from __future__ import annotations

import importlib
from typing import Any

from scripts.reference_pages.markdown import code, page, table
from scripts.reference_pages.rest import document
from scripts.reference_pages.vocabulary import registry

_ADMINISTRATOR = "administrator"
_OTHERWISE = ("open", "known", _ADMINISTRATOR)


def roles_page() -> str:
    roles = importlib.import_module("mainspring.contracts.roles")
    return page(
        "Roles",
        "Who may do what in a workspace. Each role may do everything that the roles before it "
        "may. A token has a role too and never gives more than its member has; one that names "
        "capabilities may call those and nothing else.",
        "## Permissions",
        _permissions(roles),
        "## Routes",
        "A route that needs no permission is open to everybody (*open*) or to everybody who is "
        "known (*known*); a call of a capability is then judged by the table below.",
        _routes(roles),
        "## Capabilities",
        "Runs are bound by the grants of their automation instead. Those for *runs* are called "
        "by nobody else; those for an *administrator* look after the installation, can be "
        "granted to no automation, and are not there for anybody else.",
        _capabilities(roles),
    )


def _permissions(roles: Any) -> str:
    heads = ("Permission", *(role.value for role in roles.Role), "What it allows")
    rows = [
        (
            code(permission.value),
            *("yes" if role.may(permission) else "" for role in roles.Role),
            permission.meaning,
        )
        for permission in roles.Permission
    ]
    return table(heads, rows)


def _routes(roles: Any) -> str:
    operations = importlib.import_module("mainspring.surfaces.rest.openapi").operations
    rows = sorted(
        (code(path), method.upper(), *_asked(roles, entry["x-permission"]))
        for path, method, entry in operations(document())
    )
    return table(("Path", "Method", "Permission", "Least role"), rows)


def _asked(roles: Any, permission: str) -> tuple[str, str]:
    if permission in _OTHERWISE:
        return "", f"*{permission}*"
    return code(permission), roles.LEAST[roles.Permission(permission)].value


def _capabilities(roles: Any) -> str:
    audiences = importlib.import_module("mainspring.contracts.capability").Audience
    few = {audiences.ADMINISTRATORS: f"*{_ADMINISTRATOR}*", audiences.RUNS: "*runs*"}
    rows = []
    for name, entry in sorted(registry().capabilities.items()):
        who = few.get(entry.annotations.audience)
        asked = ("", who) if who else _asked(roles, entry.permission.value)
        rows.append((code(name), *asked, "yes" if entry.grantable else "no"))
    return table(("Capability", "Permission", "Least role", "Grantable"), rows)
