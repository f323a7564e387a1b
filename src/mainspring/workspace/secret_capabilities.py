"""Secret capabilities: set, list and delete, for people and never for runs.

Values are write-only: no result contains one, and the gate keeps them out of its records. A
member's secrets are their own; members with permission to manage members can manage their secrets
too. Publisher secrets belong to the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import Finding, InternalError, NotFound, PermissionDenied
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import LEAST, Permission
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.account_changes import (
    AccountChange,
    Words,
    check_account_change,
    writes_with_secret,
)
from mainspring.workspace.publisher_secrets import PREFIX, SLACK_SIGNING_SECRET
from mainspring.workspace.vault import (
    MAX_DESCRIPTION,
    MAX_NAME,
    NAME_PATTERNS,
    NAMED,
    SecretKind,
    SecretScope,
    Vault,
    delete_secret,
    list_secrets,
    publisher_scope,
)

# The operator's limit also applies, in bytes.
MAX_VALUE: Final = 8_192
_ID: Final = {"type": "string", "format": "uuid"}
_MOMENT: Final = {"type": "string", "format": "date-time"}
_SOMEBODY: Final = "0190f3a0-0000-7000-8000-00000000000a"
_SECRET: Final = "0190f3a0-0000-7000-8000-00000000000b"  # noqa: S105  (an id, not a secret)
_KNOWN_HERE = """
    SELECT 1 AS one FROM members WHERE workspace_id = $1 AND user_id = $2
    UNION ALL SELECT 1 FROM secrets WHERE workspace_id = $1 AND owner_id = $2 LIMIT 1
"""


# Secrets that only a person sets: where a member is notified, and what verifies their answers.
_BY_PEOPLE: Final = {
    "telegram_chat_id": "A person says where they are reached (telegram_chat_id); a program "
    "cannot.",
    SLACK_SIGNING_SECRET: f"A person sets {SLACK_SIGNING_SECRET}, because it verifies what "
    "members answer; a program cannot.",
}


@dataclass(frozen=True, slots=True)
class _SecretKindText:
    """Names and descriptions for the capabilities of one kind of secret."""

    kind: SecretKind
    prefix: str
    noun: str
    example: str
    wrong_names: tuple[tuple[str, str], ...]
    # The permission needed to change them.
    permission: Permission
    use: str


_AUTOMATION = _SecretKindText(
    "automation",
    "automation_secret",
    "secret",
    "billing_key",
    (("Billing", "small letters alone"), ("", "at least one character")),
    Permission.SECRET,
    "Your automations use it as {{ secrets.name }} in the URL, headers and query of a request.",
)
_PUBLISHER = _SecretKindText(
    "publisher",
    "publisher_secret",
    "publisher secret",
    "BILLING_KEY",
    (("billing_key", "capitals alone"), ("1_KEY", "a capital first")),
    Permission.MEMBERS,
    "It is a secret of the workspace; recipes that it publishes use it as {{publisher.NAME}}.",
)


def secret_capabilities(
    vault: Vault | None, vocabulary: Words | None = None
) -> tuple[Capability, ...]:
    """Build the six capabilities; without a vault they can only be described.

    ``vocabulary`` says which steps write.
    """
    return tuple(
        one
        for words in (_AUTOMATION, _PUBLISHER)
        for one in (_set(words, vault, vocabulary), _list(words), _delete(words))
    )


def _set(words: _SecretKindText, vault: Vault | None, vocabulary: Words | None) -> Capability:
    async def handler(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if vault is None:
            raise InternalError("There is no vault here.", code="no_vault", retryable=False)
        if arguments["name"] in _BY_PEOPLE:
            check_sets_address(ctx.actor, _BY_PEOPLE[arguments["name"]])
        scope = await _resolve_scope(words, ctx, arguments)
        if vocabulary is not None:
            await _check_replacing(words, ctx, scope, arguments["name"], vocabulary)
        description = arguments.get("description", "")
        stored = await vault.put(ctx.tx, scope, arguments["name"], arguments["value"], description)
        return {"id": str(stored.id), **_format_owner(words, scope), "name": stored.name}

    given = {"name": words.example, "value": "sk-0123456789"}
    return Capability(
        id=f"{words.prefix}_set",
        description=f"Set a {words.noun}\n\n"
        f"{words.use} Replaces an existing value. No call returns a value.",
        input_schema=build_object_schema(
            {
                "name": _name(words),
                "value": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_VALUE,
                    "writeOnly": True,
                },
                "description": {"type": "string", "maxLength": MAX_DESCRIPTION},
                **_build_owner_argument(words),
            },
            ["name", "value"],
            [given, {**given, "description": "The billing system, read only."}],
            [
                ({"name": words.example}, "there is nothing to keep"),
                ({"name": words.example, "value": ""}, "at least one character"),
                *(({**given, "name": name}, reason) for name, reason in words.wrong_names),
            ],
        ),
        output_schema=build_object_schema(
            {"id": _ID, **_build_owner_result(words), "name": _name(words)},
            ["id", *_build_owner_result(words), "name"],
            [{"id": _SECRET, **_build_example_owner(words), "name": words.example}],
            [({"name": words.example, "value": "sk-0"}, "a value is never answered")],
        ),
        handler=handler,
        annotations=Annotations(
            toolset=Toolset.SECRETS,
            effect=Effect.KEEP,
            transactional=True,
            seconds=0.1,
            audience=Audience.PEOPLE,
            permission=words.permission,
            hidden_arguments=frozenset({"value"}),
            # As the other capabilities for it name it.
            subject=lambda given, _: given.get("name"),
        ),
    )


def _list(words: _SecretKindText) -> Capability:
    async def handler(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        scope = await _resolve_scope(words, ctx, arguments)
        found = await list_secrets(ctx.tx, scope)
        return {
            **_format_owner(words, scope),
            "secrets": [
                {
                    "id": str(stored.id),
                    "name": stored.name,
                    "description": stored.description,
                    "created_at": stored.created_at.isoformat(),
                    "updated_at": stored.updated_at.isoformat(),
                }
                for stored in found
            ],
        }

    entry = {
        "id": _ID,
        "name": _name(words),
        "description": {"type": "string"},
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
    }
    moment = "2026-01-01T00:00:00+00:00"
    shown = {
        "id": _SECRET,
        "name": words.example,
        "description": "",
        "created_at": moment,
        "updated_at": moment,
    }
    return Capability(
        id=f"{words.prefix}_list",
        description=f"List {words.noun} names\n\n"
        "Sorted by name, with descriptions. Values are never returned.",
        input_schema=build_object_schema(
            _build_owner_argument(words),
            [],
            [{}, *_build_owner_examples(words)],
            [({"values": True}, "never the values")],
        ),
        output_schema=build_object_schema(
            {
                **_build_owner_result(words),
                "secrets": {"type": "array", "items": build_object_part(entry)},
            },
            [*_build_owner_result(words), "secrets"],
            [{**_build_example_owner(words), "secrets": [shown]}],
            [({"secrets": [{**shown, "value": "sk-0"}]}, "a value is never answered")],
        ),
        handler=handler,
        annotations=_build_annotations(Effect.READ, Permission.SECRET),
    )


def _delete(words: _SecretKindText) -> Capability:
    async def handler(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        scope = await _resolve_scope(words, ctx, arguments)
        deleted = int(await delete_secret(ctx.tx, scope, arguments["name"]))
        return {"deleted": deleted} if deleted else Unchanged({"deleted": deleted})

    return Capability(
        id=f"{words.prefix}_delete",
        description=f"Delete a {words.noun}\n\n"
        "Automations that use it fail until it is set again. A missing name is not an "
        "error.",
        input_schema=build_object_schema(
            {"name": _name(words), **_build_owner_argument(words)},
            ["name"],
            [{"name": words.example}],
            [({}, "which one?"), ({"name": "*"}, "one name at a time")],
        ),
        output_schema=build_object_schema(
            {"deleted": {"type": "integer", "minimum": 0}},
            ["deleted"],
            [{"deleted": 1}, {"deleted": 0}],
            [({"deleted": True}, "how many, not whether")],
        ),
        handler=handler,
        annotations=_build_annotations(Effect.KEEP, words.permission),
    )


async def _check_replacing(
    words: _SecretKindText, ctx: CallContext, scope: SecretScope, name: str, vocabulary: Words
) -> None:
    """Reject a program whose value would switch consented automations to another account.

    Also when no value is set: a program could have deleted the previous one.
    """
    published = words.kind == "publisher"
    change = AccountChange(
        f"The {words.noun} {name}",
        writes_with_secret(f"{PREFIX}{name}" if published else name),
        vocabulary,
        scope.workspace_id,
        None if published else scope.owner_id,
        "/secrets",
        f"mainspring secrets set {name}{' --publisher' if published else ''}",
    )
    await check_account_change(ctx.tx, ctx.actor, change)


def check_sets_address(actor: Actor, detail: str) -> None:
    """Reject programs: they must not redirect a member's notifications."""
    if not actor.is_person:
        raise PermissionDenied(
            detail,
            code="person_needed",
            suggestion="Do it on the page, where you are signed in, or as a command on the machine "
            "of the server.",
        )


async def _resolve_scope(
    words: _SecretKindText, ctx: CallContext, arguments: Mapping[str, Any]
) -> SecretScope:
    """Resolve whose secrets a call concerns; others' need permission to manage members."""
    actor = ctx.actor
    if words.kind == "publisher":
        return publisher_scope(actor.workspace_id)
    given = arguments.get("owner_user_id")
    owner = actor.id if given is None else UUID(given)
    if owner == actor.id:
        return SecretScope(actor.workspace_id, owner)
    if actor.role is None or not actor.role.may(Permission.MEMBERS):
        detail = "Only your own secrets are yours to see and to change."
        raise PermissionDenied(
            detail,
            code="other_owner",
            findings=[Finding("/owner_user_id", detail, "other_owner")],
            suggestion="Leave owner_user_id out; another member's secrets take the role "
            f"{LEAST[Permission.MEMBERS].value} or more.",
        )
    if await ctx.tx.fetchrow(_KNOWN_HERE, actor.workspace_id, owner) is None:
        detail = "There is no such member in this workspace."
        raise NotFound(
            detail,
            code="no_member",
            findings=[Finding("/owner_user_id", detail, "no_member")],
        )
    return SecretScope(actor.workspace_id, owner)


def _build_annotations(effect: Effect, permission: Permission) -> Annotations:
    return Annotations(
        toolset=Toolset.SECRETS,
        effect=effect,
        transactional=True,
        seconds=0.1,
        audience=Audience.PEOPLE,
        permission=permission,
    )


def _format_owner(words: _SecretKindText, scope: SecretScope) -> dict[str, str]:
    return {"owner_user_id": str(scope.owner_id)} if words.kind == "automation" else {}


def _name(words: _SecretKindText) -> dict[str, Any]:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_NAME,
        "pattern": NAME_PATTERNS[words.kind],
        "x-mainspring-says": NAMED[words.kind],
    }


def _build_owner_argument(words: _SecretKindText) -> dict[str, Any]:
    if words.kind == "publisher":
        return {}
    described = "Whose secret, for admins only. Default: yours."
    return {"owner_user_id": {**_ID, "description": described}}


def _build_owner_result(words: _SecretKindText) -> dict[str, Any]:
    return {} if words.kind == "publisher" else {"owner_user_id": _ID}


def _build_example_owner(words: _SecretKindText) -> dict[str, Any]:
    return {} if words.kind == "publisher" else {"owner_user_id": _SOMEBODY}


def _build_owner_examples(words: _SecretKindText) -> list[dict[str, Any]]:
    return [] if words.kind == "publisher" else [{"owner_user_id": _SOMEBODY}]
