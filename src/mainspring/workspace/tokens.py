"""Access tokens for API clients.

A token is shown once, when it is created; only its hash and its last four characters are stored.
The local owner's token is in a file of the data folder, so that commands on the same machine need
no setup.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Audience, Capability
from mainspring.contracts.context import Actor
from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Finding, InternalError, Invalid, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Permission, Role, min_role
from mainspring.definition.suggestions import suggest_nearest
from mainspring.store.database import Database
from mainspring.workspace.private_file import InsecureFileError, read_private, write_private

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


_COLUMNS = """
    workspace_id, id, member_id, name, hint, role, capabilities, created_at, expires_at,
    last_used_at, revoked_at, client_id, approves
"""
_ADD = f"""
    INSERT INTO access_tokens (workspace_id, id, member_id, name, hash, hint, role, capabilities,
        expires_at, client_id, approves)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (hash) DO NOTHING RETURNING {_COLUMNS}
"""
# Across workspaces: the hash alone identifies the token.
_FIND = f"SELECT {_COLUMNS} FROM access_tokens WHERE hash = $1"
_LIST = f"""
    SELECT {_COLUMNS} FROM access_tokens
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR member_id = $2) ORDER BY id
"""
# At most one write per minute.
_TOUCH = """
    UPDATE access_tokens SET last_used_at = now()
    WHERE workspace_id = $1 AND id = $2
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
"""
_REVOKE_ALL = """
    UPDATE access_tokens SET revoked_at = now()
    WHERE workspace_id = $1 AND member_id = $2 AND revoked_at IS NULL
"""
# Across workspaces: a person's tokens exist in all of them.
_REVOKE_EVERYWHERE = """
    UPDATE access_tokens SET revoked_at = now()
    WHERE member_id = $1 AND revoked_at IS NULL AND hash IS DISTINCT FROM $2
    RETURNING workspace_id
"""
_REVOKE = f"""
    UPDATE access_tokens SET revoked_at = coalesce(revoked_at, now())
    WHERE workspace_id = $1 AND id = $2 AND ($3::uuid IS NULL OR member_id = $3)
    RETURNING {_COLUMNS}
"""
# A client's token gets a new text on refresh; a revoked one does not.
_RENEW = """
    UPDATE access_tokens SET hash = $3, hint = $4, expires_at = $5
    WHERE workspace_id = $1 AND id = $2 AND client_id IS NOT NULL AND revoked_at IS NULL
    RETURNING id
"""
_REVOKE_OF_CLIENT = """
    UPDATE access_tokens SET revoked_at = now()
    WHERE workspace_id = $1 AND member_id = $2 AND client_id = $3 AND revoked_at IS NULL
"""
_NARROW = """
    UPDATE access_tokens SET role = $4
    WHERE workspace_id = $1 AND member_id = $2 AND client_id = $3 AND revoked_at IS NULL
        AND role <> ALL ($5::text[])
"""
_REVOKED = """
    SELECT id FROM access_tokens
    WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NOT NULL
"""
# Of two processes that start concurrently, one creates the token.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('mainspring owner token', 0))"

OWNER_FILE: Final = "owner.token"
_OWNER_NAME: Final = "local owner"
_FORM: Final = re.compile(r"msk_[A-Za-z0-9_-]{43}")
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A stored token."""

    workspace_id: UUID
    id: UUID
    member_id: UUID
    name: str
    hint: str
    role: Role
    # The only capabilities it may call; None: everything its role allows.
    capabilities: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    # The OAuth client that holds it; None: created manually.
    client_id: UUID | None
    # The automations whose consents it may answer; None: none.
    approves: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """A token's limits: a role, optionally a list of capabilities, optionally an expiry."""

    role: Role = Role.OWNER
    capabilities: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    # The automations that it may approve; None: it has no such permission.
    approves: tuple[UUID, ...] | None = None


async def record_token_use(tx: Transaction, workspace_id: UUID, token_id: UUID) -> None:
    """Record that a token was used, at most once a minute."""
    await tx.execute(_TOUCH, workspace_id, token_id)


def hash_token(plain: str) -> bytes:
    """Hash a token; its entropy makes an unsalted hash safe."""
    return hashlib.sha256(plain.encode()).digest()


def is_token(text: str) -> bool:
    """Report whether a text has the format of a token."""
    return _FORM.fullmatch(text) is not None


async def make_token(
    tx: Transaction,
    workspace_id: UUID,
    member_id: UUID,
    name: str,
    bounds: TokenLimits | None = None,
    *,
    client_id: UUID | None = None,
) -> tuple[StoredToken, str]:
    """Create a token; return it with its text, which is not stored."""
    if not 0 < len(name) <= _LONGEST_NAME:
        detail = f"The name of a token has 1 to {_LONGEST_NAME} characters."
        raise Invalid(detail, findings=[Finding("/name", detail, "length")])
    check_plain_name(name)
    plain = _generate_token()
    row = await _add(tx, workspace_id, member_id, name, plain, bounds, client_id)
    return _build_stored_token(row), plain


async def renew_token(
    tx: Transaction, workspace_id: UUID, token_id: UUID, expires_at: datetime
) -> str | None:
    """Give a client's token a new text and expiry; None for a revoked one."""
    plain = _generate_token()
    row = await tx.fetchrow(
        _RENEW, workspace_id, token_id, hash_token(plain), plain[-4:], expires_at
    )
    return None if row is None else plain


async def revoke_tokens_of_client(
    tx: Transaction, workspace_id: UUID, member_id: UUID, client_id: UUID
) -> None:
    """Revoke every token that a client holds for a member."""
    await tx.execute(_REVOKE_OF_CLIENT, workspace_id, member_id, client_id)


async def narrow_tokens_of_client(
    tx: Transaction, workspace_id: UUID, member_id: UUID, client_id: UUID, role: Role
) -> None:
    """Reduce the role of every token that a client holds for a member."""
    within = [one.value for one in Role if one.rank <= role.rank]
    await tx.execute(_NARROW, workspace_id, member_id, client_id, role.value, within)


async def find_token(tx: Transaction, digest: bytes) -> StoredToken | None:
    """Find the token with this hash, unless revoked."""
    row = await tx.fetchrow(_FIND, digest)
    return None if row is None or row["revoked_at"] is not None else _build_stored_token(row)


async def list_tokens(
    tx: Transaction, workspace_id: UUID, member_id: UUID | None = None
) -> list[StoredToken]:
    """List the tokens of a workspace or member, revoked ones included, in creation order."""
    return [_build_stored_token(row) for row in await tx.fetch(_LIST, workspace_id, member_id)]


async def revoke_token(
    tx: Transaction, workspace_id: UUID, token_id: UUID, member_id: UUID | None = None
) -> StoredToken:
    """Revoke a token; idempotent.

    With a member, only their own tokens are found.
    """
    row = await tx.fetchrow(_REVOKE, workspace_id, token_id, member_id)
    if row is None:
        raise NotFound("There is no such token.", code="no_token")
    return _build_stored_token(row)


async def is_revoked(tx: Transaction, workspace_id: UUID, token_id: UUID) -> bool:
    """Report whether a token exists and is revoked."""
    return await tx.fetchrow(_REVOKED, workspace_id, token_id) is not None


async def revoke_tokens_of(tx: Transaction, workspace_id: UUID, member_id: UUID) -> None:
    """Revoke every token of a departing member."""
    await tx.execute(_REVOKE_ALL, workspace_id, member_id)


async def revoke_tokens_everywhere(
    tx: Transaction, member_id: UUID, *, but: bytes | None = None
) -> Counter[UUID]:
    """Revoke every token of a person, optionally except one; return counts by workspace."""
    rows = await tx.fetch(_REVOKE_EVERYWHERE, member_id, but)
    return Counter(row["workspace_id"] for row in rows)


async def ensure_owner_token(
    database: Database, home: Path, workspace_id: UUID, member_id: UUID
) -> Path:
    """Ensure that the local owner's token file exists and works.

    A token that the database does not know (another or a new database) is added to it. A lost or
    revoked one is replaced.
    """
    path = home / OWNER_FILE
    async with database.transaction() as tx:
        await tx.execute(_ONE_AT_A_TIME)
        plain = await asyncio.to_thread(_read_owner, path)
        if plain is not None:
            row = await tx.fetchrow(_FIND, hash_token(plain))
            if row is None:
                await _add(tx, workspace_id, member_id, _OWNER_NAME, plain)
            if row is None or row["revoked_at"] is None:
                return path
        _, made = await make_token(tx, workspace_id, member_id, _OWNER_NAME)
        await asyncio.to_thread(_write_owner, path, made)
    return path


def read_owner_token(home: Path) -> str | None:
    """Read the local owner's token for a command on the same machine; None when there is none."""
    return _read_owner(home / OWNER_FILE)


async def load_owner_token_hash(home: Path) -> bytes | None:
    """Hash the local owner's token; None when there is none that can be read."""
    try:
        plain = await asyncio.to_thread(read_owner_token, home)
    except InternalError:
        return None
    return None if plain is None else hash_token(plain)


async def _add(
    tx: Transaction,
    workspace_id: UUID,
    member_id: UUID,
    name: str,
    plain: str,
    bounds: TokenLimits | None = None,
    client_id: UUID | None = None,
) -> Any:
    bounds = bounds or TokenLimits()
    named = None if bounds.capabilities is None else list(bounds.capabilities)
    return await tx.fetchrow(
        _ADD,
        workspace_id,
        generate_id(),
        member_id,
        name,
        hash_token(plain),
        plain[-4:],
        bounds.role.value,
        named,
        bounds.expires_at,
        client_id,
        None if bounds.approves is None else list(bounds.approves),
    )


def _generate_token() -> str:
    return "msk_" + secrets.token_urlsafe(32)


def _build_stored_token(row: Any) -> StoredToken:
    named = row["capabilities"]
    approves = row["approves"]
    given = {
        "role": Role(row["role"]),
        "capabilities": None if named is None else tuple(named),
        "approves": None if approves is None else tuple(approves),
    }
    return StoredToken(**{**dict(row), **given})


def _read_owner(path: Path) -> str | None:
    try:
        content = read_private(path)
    except InsecureFileError:
        raise _token_file_error(
            "The file with the owner's token may be read by others.", "Set its mode to 0600."
        ) from None
    except OSError as error:
        raise _token_file_error("The file with the owner's token cannot be read.") from error
    text = "" if content is None else content.decode("ascii", "replace").strip()
    return text if is_token(text) else None


def _write_owner(path: Path, plain: str) -> None:
    try:
        write_private(path, plain.encode() + b"\n")
    except OSError as error:
        raise _token_file_error("The file with the owner's token cannot be written.") from error


def _token_file_error(sentence: str, suggestion: str | None = None) -> InternalError:
    return InternalError(sentence, code="owner_token", suggestion=suggestion, retryable=False)


# Limits of new tokens: at most the creator's rights, and only capabilities it could call.

ANSWER: Final = "answer_consent"
MOST_APPROVED: Final = 100
APPROVE_WARNING: Final = (
    "This token agrees without a person: a program that holds it can let the named automations "
    "send, spend and use secrets as it likes, until it expires or is revoked. Keep it away from "
    "whatever writes automations."
)
_THERE: Final = """
    SELECT id FROM automations
    WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND state <> 'archived'
"""
# The last hours of year 9999 cannot be converted to UTC from every zone.
LAST_YEAR: Final = 9999


def check_bounds(
    bounds: TokenLimits,
    actor: Actor,
    known: Mapping[str, Capability],
    now: datetime,
    ends: datetime | None,
) -> None:
    """Reject a token with more rights than its creator, or with capabilities it cannot call.

    A token created with a token expires no later than that one.
    """
    if bounds.approves is not None and not actor.is_person:
        detail = "A person makes a token with the permission approve; a program cannot."
        raise PermissionDenied(
            detail,
            code="person_needed",
            findings=[Finding("/approves", detail, "person_needed")],
            suggestion="Make it on the page Settings, or with `mainspring tokens create` at a "
            "terminal.",
        )
    if actor.role is None or bounds.role.rank > actor.role.rank:
        detail = "A token cannot have a higher role than you have here."
        raise PermissionDenied(
            detail, code="role_too_small", findings=[Finding("/role", detail, "role")]
        )
    judged = (
        _judge(name, f"/capabilities/{place}", bounds.role, actor, known)
        for place, name in enumerate(bounds.capabilities or ())
    )
    findings = [found for found in judged if found is not None]
    if bounds.approves is not None:
        findings += find_approve_problems(bounds)
    if bounds.expires_at is not None and bounds.expires_at <= now:
        findings.append(Finding("/expires_at", "This time is in the past.", "past"))
    elif bounds.expires_at is not None and bounds.expires_at.year >= LAST_YEAR:
        detail = f"A token ends before the year {LAST_YEAR}, or never (null)."
        findings.append(Finding("/expires_at", detail, "range"))
    if findings:
        raise Invalid("A token cannot be made like this.", findings=findings)
    if ends is not None and (bounds.expires_at is None or bounds.expires_at > ends):
        detail = "A token that is made with another cannot outlive it."
        found = Finding("/expires_at", detail, "outlives")
        raise PermissionDenied(detail, code="outlives", findings=[found])


def find_approve_problems(bounds: TokenLimits) -> Iterator[Finding]:
    """Find what an approving token lacks."""
    if not bounds.approves:
        yield Finding("/approves", "Name the automations that it may approve.", "required")
    elif len(bounds.approves) > MOST_APPROVED:
        detail = f"A token approves at most {MOST_APPROVED} automations."
        yield Finding("/approves", detail, "length")
    if bounds.expires_at is None:
        detail = "A token with the permission approve must expire."
        yield Finding("/expires_at", detail, "expiry_required", "Say when it ends.")
    if not bounds.role.may(Permission.EDIT):
        detail = f"Agreeing takes the role {Role.EDITOR.value}; this token could not use approve."
        yield Finding("/role", detail, "role_too_small")
    if bounds.capabilities is not None and ANSWER not in bounds.capabilities:
        detail = f"A token that may approve calls {ANSWER}, which is not among these."
        yield Finding("/capabilities", detail, "capability_missing", f"Add {ANSWER}.")


async def check_approved_exist(
    tx: Transaction, workspace_id: UUID, approves: Sequence[UUID] | None
) -> None:
    """Reject automations that are not in this workspace."""
    if approves is None:
        return
    rows = await tx.fetch(_THERE, workspace_id, list(approves))
    there = {row["id"] for row in rows}
    findings = [
        Finding(f"/approves/{place}", "There is no such automation.", "no_automation")
        for place, one in enumerate(approves)
        if one not in there
    ]
    if findings:
        raise Invalid("A token cannot be made like this.", findings=findings)


def _judge(
    name: str, pointer: str, role: Role, actor: Actor, known: Mapping[str, Capability]
) -> Finding | None:
    """Explain why a token could never call a capability."""
    found = known.get(name)
    if found is None:
        detail = f"There is no capability called {name[:64]!r}."
        return Finding(pointer, detail, "unknown_capability", suggest_nearest(name, known))
    audience = found.annotations.audience
    if audience is Audience.RUNS:
        detail = f"{name} is there for runs alone; no token can call it."
    elif audience is Audience.ADMINISTRATORS:
        if actor.administrator and role is Role.OWNER:
            return None
        detail = f"{name} takes a token of an administrator with the role {Role.OWNER.value}."
    elif not role.may(found.permission):
        detail = f"{name} takes more than the role {role.value}; this token could not call it."
    else:
        return None
    return Finding(pointer, detail, "capability_out_of_reach")


def describe_token(stored: StoredToken) -> dict[str, Any]:
    """Describe a new token for the audit log."""
    result: dict[str, Any] = {"role": stored.role.value}
    if stored.approves is not None:
        result["approves"] = [str(one) for one in stored.approves]
    return result


# Batched lookup of token holders.

# The token's holder, while the person is an active member.
_HOLDER = """
    SELECT t.hash, t.workspace_id, t.id, t.member_id, t.role, t.capabilities,
        m.role AS member_role, t.expires_at, u.administrator,
        t.client_id, t.approves,
        t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute' AS stale
    FROM access_tokens t
    JOIN users u ON u.id = t.member_id AND u.disabled_at IS NULL
    JOIN members m ON m.workspace_id = t.workspace_id AND m.user_id = t.member_id
    WHERE t.hash = ANY ($1::bytea[]) AND t.revoked_at IS NULL
        AND (t.expires_at IS NULL OR t.expires_at > now())
"""


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The holder of a token and its rights."""

    workspace_id: UUID
    token_id: UUID
    member_id: UUID
    role: Role
    capabilities: frozenset[str] | None
    administrator: bool
    expires_at: datetime | None
    # Whether its last use should be recorded again.
    stale: bool
    # The OAuth client that holds it; such a token only works at the MCP server.
    client_id: UUID | None
    # The automations whose consents it may answer; None for ordinary tokens.
    approves: frozenset[UUID] | None = None


async def find_holder(tx: Transaction, digest: bytes) -> TokenHolder | None:
    """Find the holder of a valid token by hash."""
    return (await find_holders(tx, [digest])).get(digest)


async def find_holders(tx: Transaction, digests: Collection[bytes]) -> dict[bytes, TokenHolder]:
    """Find the holders of valid tokens, by hash."""
    return {row["hash"]: _build_holder(row) for row in await tx.fetch(_HOLDER, list(digests))}


def _build_holder(row: Any) -> TokenHolder:
    limited, role, approves = row["capabilities"], Role(row["role"]), row["approves"]
    return TokenHolder(
        row["workspace_id"],
        row["id"],
        row["member_id"],
        min_role(role, Role(row["member_role"])),
        None if limited is None else frozenset(limited),
        # An administrator's token with a smaller role does not administrate.
        row["administrator"] and role is Role.OWNER,
        row["expires_at"],
        row["stale"],
        row["client_id"],
        None if approves is None else frozenset(approves),
    )


class TokenHolderLookup:
    """Looks tokens up by hash, in batches."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[bytes, asyncio.Future[TokenHolder | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def find(self, digest: bytes) -> TokenHolder | None:
        """Find the holder of a valid token by hash."""
        found: asyncio.Future[TokenHolder | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((digest, found))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer_all(), name="token-holders")
        return await found

    async def _answer_all(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                known = await find_holders(self._database, {digest for digest, _ in taken})
            except Exception as error:
                for _, found in taken:
                    if not found.done():
                        found.set_exception(error)
            else:
                for digest, found in taken:
                    if not found.done():
                        found.set_result(known.get(digest))
            finally:
                # Only cancelling this task leaves a future unresolved.
                for _, found in taken:
                    found.cancel()
