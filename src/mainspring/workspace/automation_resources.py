"""An automation's use of its owner's secrets and accounts.

Runs use the secrets of the automation's owner. Another member may edit the automation but may not
send the owner's secrets anywhere new. When the owner leaves, their secrets are no longer used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import SecretUsage, find_secret_uses
from mainspring.definition.strict_json import encode_canonical, join_pointer
from mainspring.workspace.publisher_secrets import (
    PREFIX,
    check_may_publish,
    format_set_hint,
    list_set_publisher_secrets,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# An automation and its owner's accounts: who may extend their use, and how.

# The calls of these steps are decided at run time, by a prompt or by code.
_DECIDE_THEMSELVES: Final = frozenset({"agent.run", "agent_task", "script"})


def check_accounts(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    widened: Sequence[Grant],
    lent: frozenset[str],
) -> None:
    """Reject a version by another member that uses the owner's accounts in a new way.

    ``lent`` are the capabilities of this version that use those accounts.
    """
    if not lent:
        return
    findings = [
        Finding(
            "/grants",
            f"This version may call {grant.capability} in ways that the one in force may not.",
            "grant_widened",
        )
        for grant in widened
        if grant.capability in lent
    ]
    known = {_hash_step(step) for _, step in _iterate_steps(before)}
    findings += [
        Finding(
            pointer,
            f"The step {step.get('step_id')} would use the owner's accounts in another way.",
            "account_used_anew",
        )
        for pointer, step in _iterate_steps(after)
        if step.get("action") in lent | _DECIDE_THEMSELVES and _hash_step(step) not in known
    ]
    if findings:
        raise PermissionDenied(
            "This automation goes over its owner's accounts, and this version would use them in "
            "another way.",
            code="accounts_used_anew",
            findings=findings,
            suggestion="Let its owner save this version, or save it as an automation of your own.",
        )


def _hash_step(step: Mapping[str, Any]) -> bytes:
    """Hash what a step does, without its name and position."""
    kept = {key: step.get(key) for key in ("action", "config", "when")}
    return encode_canonical(kept)


def _iterate_steps(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every step of a definition with its pointer, nested and ``finally`` steps included."""
    yield from _iterate_listed_steps(document.get("plan"), "/plan")
    last = (document.get("execution") or {}).get("on_failure")
    yield from _iterate_listed_steps(last, "/execution/on_failure")


def _iterate_listed_steps(steps: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, Mapping):
            continue
        here = join_pointer(at, number)
        yield here, step
        config = step.get("config")
        if isinstance(config, Mapping):
            yield from _iterate_listed_steps(config.get("steps"), f"{here}/config/steps")


# Boards that triggers watch: their names, and which of them do not exist.

_BOARDS = """
    SELECT id, name, archived_at IS NOT NULL AS archived FROM boards
    WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class WatchedBoard:
    """A board that a trigger watches."""

    name: str
    archived: bool


async def load_watched_boards(
    tx: Transaction, workspace_id: UUID, triggers: Iterable[Mapping[str, Any]]
) -> dict[str, WatchedBoard]:
    """Load the existing boards of these triggers, by id."""
    wanted = {
        board for trigger in triggers if (board := _get_watched_board_id(trigger)) is not None
    }
    if not wanted:
        return {}
    rows = await tx.fetch(_BOARDS, workspace_id, [UUID(board) for board in wanted])
    return {str(row["id"]): WatchedBoard(row["name"], row["archived"]) for row in rows}


async def find_missing_boards(
    tx: Transaction, workspace_id: UUID, document: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Find watched boards that do not exist, each with a pointer to its use."""
    triggers = document.get("triggers", ())
    there = await load_watched_boards(tx, workspace_id, triggers)
    found = []
    for place, trigger in enumerate(triggers):
        board = _get_watched_board_id(trigger)
        if board is None or (board in there and not there[board].archived):
            continue
        at = f"/triggers/{place}/config/board_id"
        if board in there:
            detail = f"The board {there[board].name!r} is archived, so nothing changes in it."
            found.append(Finding(at, detail, "board_archived", "Bring the board back first."))
        else:
            detail = f"There is no board {board} here, so this trigger never fires."
            way_out = "Name a board that is there, by its id."
            found.append(Finding(at, detail, "board_missing", way_out))
    return tuple(found)


def _get_watched_board_id(trigger: Mapping[str, Any]) -> str | None:
    """Return the id of the board that a trigger watches, in canonical form."""
    if trigger.get("type") != "board_change":
        return None
    return str(UUID(str(trigger["config"]["board_id"])))


_THERE = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind = 'automation' AND owner_id = $2 AND name = ANY($3::text[])
"""
_HERE = """
    SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL
"""
_MOST_SHOWN = 10


async def find_missing_secrets(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    document: Mapping[str, Any],
    limits: Limits | None = None,
) -> tuple[Finding, ...]:
    """Find the secrets that a definition uses and its owner lacks, each with a pointer."""
    lacking = await _list_unset_secrets(tx, workspace_id, owner_id, document, limits or Limits())
    return tuple(_build_missing_finding(use) for use in lacking)


async def check_owner_active(tx: Transaction, workspace_id: UUID, owner_id: UUID) -> None:
    """Reject work for an owner who is no longer a member, or is disabled."""
    if await tx.fetchrow(_HERE, workspace_id, owner_id) is None:
        raise NotFound(
            "The owner of this automation is no longer a member here; nothing of theirs is used.",
            code="owner_left",
            suggestion="Take it over under Settings, Members, or with "
            "`mainspring members takeover`.",
        )


async def check_secrets_set(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    document: Mapping[str, Any],
    limits: Limits,
) -> None:
    """Reject activating an automation that could only fail."""
    uses = find_secret_uses(document, limits)
    if any(use.secret.startswith(PREFIX) for use in uses):
        await check_may_publish(tx, workspace_id, owner_id)
    lacking = await _list_unset_secrets(tx, workspace_id, owner_id, document, limits)
    if lacking:
        names = sorted({use.secret for use in lacking})
        raise Conflict(
            f"The secrets it uses are not set: {_format_names(names)}.",
            code="secrets_missing",
            findings=[_build_missing_finding(use) for use in lacking],
            suggestion="Set them in the vault, then activate it.",
        )


def check_not_widened(
    before: Mapping[str, Any], after: Mapping[str, Any], widened: Sequence[Grant]
) -> None:
    """Reject a version by another member that extends the use of the owner's secrets."""
    limits = Limits()
    uses = find_secret_uses(after, limits)
    if not uses:
        return
    known = find_secret_uses(before, limits)
    findings = [_build_widening_finding(use) for use in uses if not use.is_within(known)]
    findings += [
        Finding(
            "/grants",
            f"This version may call {grant.capability} in ways that the one in force may not.",
            "grant_widened",
        )
        for grant in widened
    ]
    if findings:
        raise PermissionDenied(
            "This automation uses its owner's secrets, and this version would let them go further.",
            code="secrets_widened",
            findings=findings,
            suggestion="Let its owner save this version, or save it as an automation of your own.",
        )


async def _list_unset_secrets(
    tx: Transaction, workspace_id: UUID, owner_id: UUID, document: Mapping[str, Any], limits: Limits
) -> list[SecretUsage]:
    uses = find_secret_uses(document, limits)
    if not uses:
        return []
    rows = await tx.fetch(_THERE, workspace_id, owner_id, sorted({use.secret for use in uses}))
    there = {row["name"] for row in rows}
    there |= await list_set_publisher_secrets(tx, workspace_id, (use.secret for use in uses))
    return [use for use in uses if use.secret not in there]


def _build_missing_finding(use: SecretUsage) -> Finding:
    if use.secret.startswith(PREFIX):
        name = use.secret.removeprefix(PREFIX)
        detail = f"The workspace has no publisher secret called {name}."
        return Finding(use.pointer, detail, "secret_missing", format_set_hint(name))
    return Finding(
        use.pointer,
        f"The automation's owner has no secret called {use.secret}.",
        "secret_missing",
        f"The owner adds it with `mainspring secrets set {use.secret}`.",
    )


def _build_widening_finding(use: SecretUsage) -> Finding:
    where = f" to {use.site}" if use.site else ""
    part = f"the {use.part} of " if use.part else ""
    detail = f"The owner's secret {use.secret} did not go{where} from {part}{use.action} before."
    return Finding(use.pointer, detail, "secret_goes_further")


def _format_names(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
