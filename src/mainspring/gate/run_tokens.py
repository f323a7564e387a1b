"""A run's own token: what it holds lets a program call as the run, while the run runs.

It is made for one try at one step and dies with it, with the run, with the worker's lease
and with a wish to cancel. Nothing of that is remembered in a process: each use asks the
database, so a token is refused from the very moment on. What was begun with it, such as an
agent, asks again before each thing that it does. Only its hash is kept.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import Actor, RunRef, StepStart
from mainspring.contracts.errors import LimitExceeded, Unauthenticated
from mainspring.contracts.grant import Grant
from mainspring.contracts.secret import ScriptSecrets
from mainspring.definition.approval import read_approvals
from mainspring.definition.model import Execution
from mainspring.definition.secret_use import has_script
from mainspring.gate.agent_turns import FIRST_OF_AGENTS
from mainspring.gate.budget_reservations import read_step_spending
from mainspring.gate.capability_call import CapabilityCall, lost_run_error
from mainspring.gate.policy import RunPolicy
from mainspring.gate.rehearsal_recording import limit_to_day_cap, read_active_day_cap
from mainspring.gate.run_budget import RunBudget, find_step_budgets
from mainspring.workspace.redaction import secrets_named_in

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Calls with a token are numbered from here, apart from those that the step itself makes.
FIRST_NUMBER: Final = 10_001
# The code of a token that does not work.
ENDED: Final = "unknown_token"
_LAST_NUMBER: Final = FIRST_OF_AGENTS - 1
_FORM: Final = re.compile(r"msr_[A-Za-z0-9_-]{43}")
_USUAL: Final = Execution()

_MINT = """
    WITH minted AS (
    INSERT INTO run_tokens (hash, workspace_id, run_id, fence, step, item, attempt, calls)
    SELECT $1, r.workspace_id, r.id, r.fence, $5, $6, $7, coalesce((
        -- An earlier owner of the run may have come this far with the same try.
        SELECT max(c.call) - $8 + 1 FROM calls c
        WHERE c.workspace_id = r.workspace_id AND c.run_id = r.id AND c.step = $5
          AND c.item = $6 AND c.attempt = $7 AND c.call >= $8 AND c.call < $11), 0)
    FROM runs r
    WHERE r.workspace_id = $2 AND r.id = $3 AND r.fence = $4 AND r.status = 'running'
    RETURNING workspace_id, run_id, step, item
    )
    INSERT INTO step_starts (workspace_id, run_id, step, item, began_at, seed)
    -- A step that is rehearsed sees the clock and the chance of then.
    SELECT m.workspace_id, m.run_id, m.step, m.item, coalesce(e.began_at, $9),
        coalesce(e.seed, $10)
    FROM minted m
    JOIN runs r ON r.workspace_id = m.workspace_id AND r.id = m.run_id
    LEFT JOIN step_starts e ON e.workspace_id = m.workspace_id AND e.run_id = r.rehearses
        AND e.step = m.step AND e.item = m.item
    -- An earlier try began it: what that one saw holds for this one too.
    ON CONFLICT (workspace_id, run_id, step, item) DO UPDATE SET seed = step_starts.seed
    RETURNING began_at, seed
"""
# The run still belongs to the worker that it was made under, and nobody wants it to stop.
_ALIVE = """
    r.workspace_id = t.workspace_id AND r.id = t.run_id AND r.fence = t.fence
    AND r.status = 'running' AND r.cancel_at IS NULL
    AND w.id = r.worker AND w.lease_until > now()
"""
_FIND = f"""
    SELECT t.workspace_id, t.run_id, t.fence, t.step, t.item, t.attempt, r.automation_id,
        r.version, r.mode, coalesce(h.grants, v.grants) AS grants, d.document, a.created_by,
        r.rehearsal_id IS NOT NULL AS rehearses,
        r.mode <> 'dry_run' OR r.rehearsal_id IS NOT NULL
            OR coalesce(a.agreed_version = r.version, false) AS agreed,
        greatest(r.cost_usd, (
            SELECT sum(m.spent) FROM reservations m
            WHERE m.workspace_id = t.workspace_id AND m.run_id = t.run_id)) AS spent
    FROM run_tokens t
    JOIN runs r ON r.workspace_id = t.workspace_id AND r.id = t.run_id
    JOIN workers w ON {_ALIVE}
    JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    LEFT JOIN rehearsals h ON h.workspace_id = r.workspace_id AND h.id = r.rehearsal_id
    JOIN definitions d ON d.workspace_id = v.workspace_id
        AND d.hash = coalesce(h.definition_hash, v.definition_hash)
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE t.hash = $1
"""
_NUMBER = f"""
    UPDATE run_tokens t SET calls = t.calls + 1
    FROM runs r, workers w
    WHERE t.hash = $1 AND {_ALIVE}
    RETURNING t.calls
"""
# Both stay as they are until the end of the transaction: what is done in it was done in time.
_HOLD = """
    SELECT 1 AS held FROM run_tokens t
    JOIN runs r ON r.workspace_id = t.workspace_id AND r.id = t.run_id AND r.fence = t.fence
        AND r.status = 'running'
    WHERE t.workspace_id = $1 AND t.hash = $2 FOR KEY SHARE
"""
_END = "DELETE FROM run_tokens WHERE hash = $1 RETURNING calls"
# What an agent of the step itself spent is in the purse of its run already.
# The turns of an agent whose own call is not on record yet stand for that call.
_MADE = """
    SELECT call, outcome,
        CASE WHEN call < $7 OR starts_with(name, 't') THEN cost_usd ELSE 0 END AS cost_usd
    FROM calls
    WHERE workspace_id = $1 AND run_id = $2 AND step = $3 AND item = $4 AND attempt = $5
      AND call >= $6
    UNION ALL
    SELECT split_part(t.name, '.', 3)::int, 'read', sum(t.cost_usd) FROM agent_turns t
    JOIN runs r ON r.workspace_id = t.workspace_id AND r.id = t.run_id
    WHERE t.workspace_id = $1 AND t.run_id = $2 AND t.step = $3 AND t.item = $4
      AND starts_with(t.name, 't' || r.fence || '.' || $5::int2 || '.')
      AND NOT EXISTS (
        SELECT 1 FROM calls c
        WHERE c.workspace_id = $1 AND c.run_id = $2 AND c.step = $3 AND c.item = $4
          AND c.attempt = $5 AND c.call = split_part(t.name, '.', 3)::int)
    GROUP BY t.name
"""


@dataclass(frozen=True, slots=True)
class RunTokenScope:
    """What a run's token stands for: one try at a step, with what the run may do."""

    hash: bytes
    actor: Actor
    run: RunRef
    fence: int
    posture: RunPolicy
    budget: RunBudget
    # The secrets that its definition names.
    secrets: frozenset[str]
    # For a definition with a script: its text has no mark here, so that none is put in.
    spelt: ScriptSecrets | None = None
    # Its run belongs to a rehearsal.
    rehearses: bool = False


def is_run_token(text: str) -> bool:
    """Whether a text has the form of a run's token."""
    return _FORM.fullmatch(text) is not None


def run_token_hash(plain: str) -> bytes:
    """A token is random enough that a plain hash gives nothing away."""
    return hashlib.sha256(plain.encode()).digest()


async def mint(
    tx: Transaction, workspace_id: UUID, run: RunRef, fence: int, now: datetime
) -> StepStart:
    """A new token for a try at a step; its text cannot be had again."""
    plain = "msr_" + secrets.token_urlsafe(32)
    made = await tx.fetchrow(
        _MINT,
        run_token_hash(plain),
        workspace_id,
        run.id,
        fence,
        run.step,
        run.item,
        run.attempt,
        FIRST_NUMBER,
        now,
        secrets.token_bytes(32),
        FIRST_OF_AGENTS,
    )
    if made is None:
        raise lost_run_error()
    return StepStart(plain, made["began_at"], made["seed"])


async def find_pass(tx: Transaction, plain: str) -> RunTokenScope | None:
    """What a token stands for, if it works at this moment."""
    if not is_run_token(plain):
        return None
    digest = run_token_hash(plain)
    row = await tx.fetchrow(_FIND, digest)
    if row is None:
        return None
    execution = _execution(row["document"])
    if row["rehearses"]:
        cap = await read_active_day_cap(tx, row["workspace_id"], row["automation_id"])
        execution = limit_to_day_cap(execution, cap)
    named = secrets_named_in(row["document"])
    place = find_step_budgets(row["document"], row["step"])
    budget = RunBudget(
        Decimal(execution.budget_cap_usd),
        row["spent"],
        day_cap=Decimal(execution.cost_cap_daily_usd),
        token_cap=execution.max_llm_tokens,
    )
    for bound in place.bounds:
        bound.spent = await read_step_spending(tx, row["workspace_id"], row["run_id"], bound)
        budget.bounds.append(bound)
    if place.last_words:
        budget.part()
    grants = tuple(Grant(entry["capability"], entry["params"]) for entry in row["grants"])
    return RunTokenScope(
        hash=digest,
        actor=Actor(row["workspace_id"], "run", row["run_id"]),
        run=RunRef(row["run_id"], row["automation_id"], row["step"], row["item"], row["attempt"]),
        fence=row["fence"],
        posture=RunPolicy(
            grants,
            execution.write_policy,
            row["mode"],
            row["created_by"],
            execution.model,
            row["agreed"],
            read_approvals(row["document"]),
        ),
        budget=budget,
        secrets=named,
        spelt=ScriptSecrets(named=named) if has_script(row["document"]) else None,
        rehearses=row["rehearses"],
    )


async def next_number(tx: Transaction, held: RunTokenScope) -> int:
    """The number of the next call with a token, which must work at this moment."""
    row = await tx.fetchrow(_NUMBER, held.hash)
    if row is None:
        raise dead_token()
    number = FIRST_NUMBER - 1 + int(row["calls"])
    if number > _LAST_NUMBER:
        raise LimitExceeded(
            "This attempt of the step has reached the maximum number of calls.",
            code="too_many_calls",
            retryable=False,
        )
    return number


async def hold_pass(tx: Transaction, ask: CapabilityCall) -> None:
    """Holds the token that a call came with, or refuses one whose token has ended meanwhile."""
    if ask.token is None:
        return
    if await tx.fetchrow(_HOLD, ask.actor.workspace_id, ask.token) is None:
        raise dead_token()


async def end_token(tx: Transaction, plain: str) -> bool:
    """Forgets a token, when the try it was made for is over; whether it was ever used."""
    row = await tx.fetchrow(_END, run_token_hash(plain))
    # One that is gone already may have been used: somebody else ended it.
    return row is None or row["calls"] > 0


async def list_token_calls(
    tx: Transaction, workspace_id: UUID, run: RunRef
) -> Sequence[tuple[int, str, Decimal]]:
    """Number, outcome and cost of each call of a try made with a token or by an agent."""
    rows = await tx.fetch(
        _MADE,
        workspace_id,
        run.id,
        run.step,
        run.item,
        run.attempt,
        FIRST_NUMBER,
        FIRST_OF_AGENTS,
    )
    return [(row["call"], row["outcome"], row["cost_usd"]) for row in rows]


def dead_token() -> Unauthenticated:
    """The one answer to every run token that does not work, whatever the reason."""
    return Unauthenticated(
        "This run token is invalid or has expired.",
        code=ENDED,
        suggestion="A run token is valid for the attempt of the step that requested it.",
    )


def _execution(document: Mapping[str, Any]) -> Execution:
    """The bounds of a version; its steps are nobody's business here."""
    given = {k: v for k, v in (document.get("execution") or {}).items() if k != "on_failure"}
    return Execution.model_validate(given) if given else _USUAL
