"""A scripted model for authoring, and the authoring service that asks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from mainspring.authoring.generate.context import GenerationContext
from mainspring.authoring.models import AutomationRequest
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest, ToolCall
from mainspring.definition.validate import ValidationReport, validate
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)
NOW = datetime(2026, 11, 16, 7, 30, tzinfo=UTC)
BOARD = "01900000-0000-7000-8000-00000000000b"
RESOURCES = WorkspaceResources(
    boards=(
        BoardSummary(
            BOARD, "Invoices", "kept secret", (DatasetSummary("default", ("vendor", "due")),)
        ),
    ),
    page_types=("competitor", "invoice"),
    event_types={"drive.file_added": "A file came in."},
    secrets=("slack_bot_token",),
    automations={"Nightly import": "01900000-0000-7000-8000-0000000000aa"},
    has_model=True,
)

Entry = ModelReply | Callable[[ModelRequest], ModelReply] | Exception


class ScriptedModel:
    """Plays one entry for each ask; the last one is played on and on."""

    def __init__(self, *script: Entry, usd: str = "0.01") -> None:
        self.script = list(script)
        self.asked: list[ModelRequest] = []
        self.spent = Decimal(0)
        self._usd = Decimal(usd)

    async def __call__(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        entry = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(entry, Exception):
            raise entry
        self.spent += self._usd
        return entry if isinstance(entry, ModelReply) else entry(request)

    def last_message(self, ask: int) -> str:
        """The last message that the model was sent before an ask, the first being 1."""
        last = self.asked[ask - 1].messages[-1]
        return "\n".join([*(one.content for one in last.results), last.content])


class FixedClock:
    """A fixed clock, or one that advances by so much at each reading."""

    def __init__(self, pace: float = 0.0) -> None:
        self._at = 0.0
        self._pace = pace

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        self._at += self._pace
        return self._at


async def judged(document: Any) -> ValidationReport:
    return validate(document, WORDS, LIMITS)


def desk_for(ask: ScriptedModel, **others: Any) -> GenerationContext:
    parts: dict[str, Any] = {
        "ask": ask,
        "model": "scripted",
        "vocabulary": WORDS,
        "resources": RESOURCES,
        "validate": judged,
        "max_usd": Decimal(1),
        "seconds": 60.0,
        "clock": FixedClock(),
    }
    return GenerationContext(**{**parts, **others})


def wish_for(text: str, **others: Any) -> AutomationRequest:
    return AutomationRequest(**{"text": text, "now": NOW, "timezone": "Europe/Berlin", **others})


def says(text: str = "", *calls: ToolCall, stop: str = "end_turn") -> ModelReply:
    return ModelReply(text, "scripted-1", 1_000, 100, stop_reason=stop, calls=calls)


def calls(name: str, /, **arguments: Any) -> ModelReply:
    return says("", ToolCall("call-1", name, arguments), stop="tool_use")


def hands_in(definition: Any, *questions: Mapping[str, Any], **others: Any) -> ModelReply:
    return calls("hand_in", definition=definition, questions=list(questions), **others)


def plain(**others: Any) -> dict[str, Any]:
    """A small definition of a model's, which is right as it is."""
    made = {
        "name": "Morning word",
        "goal": "Leave a word every morning.",
        "triggers": [
            {
                "id": "mornings",
                "type": "schedule",
                "config": {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},
            }
        ],
        "plan": [
            {"step_id": "tell", "action": "notification", "config": {"title": "Good morning"}}
        ],
    }
    return deepcopy({**made, **others})
