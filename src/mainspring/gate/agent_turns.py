"""An agent's turns: what a model answered, kept in the transaction that books its money.

So nobody who takes a run over pays again for an answer that was paid for, and none that was
kept is missing from the books. A conversation begins with turn 0, which holds its mark: a
word that nobody can guess, the same for everybody who goes on with the conversation. The
calls that an answer asks for are given their numbers with it, so that no two calls of one step
ever have the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import BudgetExceeded, InternalError, LimitExceeded
from mainspring.contracts.model import ModelReply, ToolCall
from mainspring.definition.strict_json import dumps
from mainspring.gate.call_records import RecordedCall
from mainspring.outbound.models.model_replies import TOO_DEEP, deeper

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Calls of agents are numbered from here, after those of the step and those with its token.
FIRST_OF_AGENTS: Final = 20_001
_LAST_OF_AGENTS: Final = 32_767

_TURNS = """
    SELECT turn, at, asked_hash, reply, first_call, cost_usd, ms FROM agent_turns
    WHERE workspace_id = $1 AND run_id = $2 AND step = $3 AND item = $4 AND name = $5
    ORDER BY turn
"""
_CALLS = """
    SELECT c.name, c.capability, c.outcome, c.arguments_hash, c.error, c.cost_usd, c.at, c.ms,
        coalesce(c.result, convert_from(l.content, 'UTF8')::json) AS result
    FROM calls c
    LEFT JOIN large_results l ON l.workspace_id = c.workspace_id AND l.run_id = c.run_id
        AND l.id = c.result_id
    WHERE c.workspace_id = $1 AND c.run_id = $2 AND c.step = $3 AND c.item = $4
      AND starts_with(c.name, $5)
      -- What there was no money for in an earlier try may be paid for now.
      AND (c.attempt = $6 OR c.error ->> 'type' IS DISTINCT FROM $7)
"""
# How the agent's own call ended in earlier tries.
_ENDS = """
    SELECT c.error, c.cost_usd FROM calls c
    WHERE c.workspace_id = $1 AND c.run_id = $2 AND c.step = $3 AND c.item = $4
      AND c.capability = $5 AND (c.name = $6 OR (c.name IS NULL AND c.call = $7))
    ORDER BY c.attempt
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('agent/' || $1::text, 0))"
_NEXT = """
    SELECT coalesce(max(t.first_call + coalesce(json_array_length(t.reply -> 'calls'), 0)), $5)::int
        AS number
    FROM agent_turns t
    WHERE t.workspace_id = $1 AND t.run_id = $2 AND t.step = $3 AND t.item = $4
"""
_ADD = """
    INSERT INTO agent_turns (workspace_id, run_id, step, item, name, turn, at, asked_hash, reply,
        first_call, cost_usd, ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, $10, $11, $12)
    ON CONFLICT (workspace_id, run_id, step, item, name, turn) DO NOTHING
"""
_ONE = """
    SELECT turn, at, asked_hash, reply, first_call, cost_usd, ms FROM agent_turns
    WHERE workspace_id = $1 AND run_id = $2 AND step = $3 AND item = $4 AND name = $5 AND turn = $6
"""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One turn as it stands in its row."""

    turn: int
    at: datetime
    asked_hash: bytes
    reply: Mapping[str, Any]
    first_call: int
    cost: Decimal
    ms: int


@dataclass(slots=True)
class AgentRecord:
    """What is on record of one agent: its turns, and its calls by name."""

    workspace_id: UUID
    run: RunRef
    name: str
    turns: dict[int, RecordedTurn] = field(default_factory=dict)
    calls: dict[str, RecordedCall] = field(default_factory=dict)
    # How long each of them took.
    calls_ms: dict[str, int] = field(default_factory=dict)

    @property
    def place(self) -> tuple[UUID, UUID, str, str]:
        return self.workspace_id, self.run.id, self.run.step, self.run.item

    @property
    def last(self) -> int:
        """The last turn on record."""
        return max(self.turns, default=-1)


@dataclass(frozen=True, slots=True)
class AgentCallEnd:
    """How the agent's own call came to an end in an earlier try."""

    code: str | None
    cost: Decimal


async def read_ends(
    tx: Transaction, workspace_id: UUID, run: RunRef, capability: str, name: str, number: int
) -> list[AgentCallEnd]:
    """The ends of earlier tries at the same call, the oldest first."""
    place = (workspace_id, run.id, run.step, run.item)
    rows = await tx.fetch(_ENDS, *place, capability, name, number)
    return [AgentCallEnd((row["error"] or {}).get("code"), row["cost_usd"]) for row in rows]


async def read_conversation(
    tx: Transaction, workspace_id: UUID, run: RunRef, name: str
) -> AgentRecord:
    """What there is of a conversation; nothing for one that is new."""
    made = AgentRecord(workspace_id, run, name)
    made.turns = {
        row["turn"]: _parse_turn(row) for row in await tx.fetch(_TURNS, *made.place, name)
    }
    if made.turns:
        over = f"urn:mainspring:problem:{BudgetExceeded.kind}"
        for row in await tx.fetch(_CALLS, *made.place, f"{name}/", run.attempt, over):
            made.calls[row["name"]] = RecordedCall(
                row["capability"],
                row["outcome"],
                row["arguments_hash"],
                row["result"],
                row["error"],
                row["cost_usd"],
                row["at"],
            )
            made.calls_ms[row["name"]] = row["ms"]
    return made


async def begin(tx: Transaction, of: AgentRecord, material: bytes, at: datetime) -> RecordedTurn:
    """Writes turn 0, or finds the one that is there already."""
    mark = {"mark": secrets.token_hex(8)}
    return await _write(tx, of, RecordedTurn(0, at, material, mark, 0, Decimal(0), 0), 0)


async def write_turn(
    tx: Transaction, of: AgentRecord, turn: RecordedTurn, calls: int
) -> RecordedTurn:
    """Writes a turn with numbers for its calls, inside the transaction that books its cost."""
    return await _write(tx, of, turn, calls)


async def _write(tx: Transaction, of: AgentRecord, turn: RecordedTurn, calls: int) -> RecordedTurn:
    await tx.execute(_LOCK, "/".join(map(str, of.place)))
    row = await tx.fetchrow(_NEXT, *of.place, FIRST_OF_AGENTS)
    first = row["number"]
    if first + calls - 1 > _LAST_OF_AGENTS:
        raise LimitExceeded(
            "The agents of this step have reached the maximum number of calls of a step.",
            code="too_many_calls",
            retryable=False,
        )
    await tx.execute(
        _ADD,
        *of.place,
        of.name,
        turn.turn,
        turn.at,
        turn.asked_hash,
        dumps(turn.reply),
        min(first, _LAST_OF_AGENTS),
        turn.cost,
        turn.ms,
    )
    return _parse_turn(await tx.fetchrow(_ONE, *of.place, of.name, turn.turn))


def _parse_turn(row: Any) -> RecordedTurn:
    return RecordedTurn(
        row["turn"],
        row["at"],
        row["asked_hash"],
        row["reply"],
        row["first_call"],
        row["cost_usd"],
        row["ms"],
    )


def reply_as_dict(reply: ModelReply, levels: int) -> dict[str, Any]:
    """A reply as its row keeps it, every text in it one that can be kept.

    Arguments that are nested more than so many levels deep are no JSON that anybody takes:
    a word stands for them, as for any that are no JSON object.
    """
    shown = {
        "text": reply.text,
        "model": reply.model,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "cached_tokens": reply.cached_tokens,
        "stored_tokens": reply.stored_tokens,
        "stop_reason": reply.stop_reason,
        "provider": reply.provider,
        "calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": TOO_DEEP if deeper(call.arguments, levels) else call.arguments,
            }
            for call in reply.calls
        ],
        "thoughts": reply.thoughts,
        "kept": reply.kept,
    }
    return orjson.loads(orjson.dumps(_storable(shown)))  # type: ignore[no-any-return]


def reply_from_dict(shown: Mapping[str, Any]) -> ModelReply:
    """The same reply, read back."""
    calls = tuple(ToolCall(one["id"], one["name"], one["arguments"]) for one in shown["calls"])
    return ModelReply(**{**shown, "calls": calls})


def unkept() -> InternalError:
    """An answer that was paid for and has a form that no row takes."""
    return InternalError(
        "The model's response has an unsupported form, so the agent cannot continue from it.",
        code="agent_answer_unkept",
        retryable=False,
        suggestion="Choose another model, or phrase the task differently.",
    )


def _storable(value: Any) -> Any:
    """JSON without what no column takes; a number that is none becomes a text."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_storable(str(key)): _storable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(entry) for entry in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return str(value)
    return value


def other_question(key: str) -> InternalError:
    """What is asked on resuming is not what was asked before."""
    return InternalError(
        f"After resuming, the request of agent {key} differs from the recorded one, so its "
        "recorded response does not apply.",
        code="call_mismatch",
        retryable=False,
        suggestion=(
            "Make the prompt depend only on the run's inputs and on the results of earlier steps."
        ),
    )
