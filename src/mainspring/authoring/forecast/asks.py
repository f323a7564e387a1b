"""How many tokens a step that asks a model will take: at least, usually, and at most.

What is written in the definition is measured; what an expression puts there and what the model
answers is taken from ``typical``. The most is what the bounds of the step and of the run allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from mainspring.actions.agent.bounds import DEFAULT_TOKENS, DEFAULT_TURNS, AgentLimits
from mainspring.actions.agent.material import AgentTask
from mainspring.actions.agent.schema import MOST_TOKENS, MOST_TURNS
from mainspring.actions.agent.words import build_system_prompt
from mainspring.authoring.forecast.reading import entries, money, text, whole
from mainspring.authoring.forecast.typical import (
    ANSWER_TOKENS,
    CALL_TOKENS,
    DOCUMENT_TOKENS,
    EXPRESSION_TOKENS,
    SHORT_ANSWER_TOKENS,
    TOKEN_CHARACTERS,
    TOOL_TOKENS,
    TURNS_ALONE,
    TURNS_WITH_TOOLS,
)
from mainspring.authoring.places import mapping
from mainspring.contracts.agency import AGENT_RUN
from mainspring.contracts.capability import Capability
from mainspring.contracts.model import ModelMessage, ModelRequest, Price
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.tool_patterns import is_pattern, match_pattern, read_tool_name
from mainspring.gate.ask import canonical_json
from mainspring.gate.llm_complete_schema import DEFAULT_TOKENS as ANSWER_DEFAULT
from mainspring.gate.llm_complete_schema import MOST_TOKENS as ANSWER_MOST
from mainspring.gate.usage_meter import reads_at_most

# What a message or a tool has around it on the wire, in tokens.
_AROUND: Final = 10
_MOST_TOOLS: Final = 100
_MOST_PATTERNS: Final = 10
_MARK: Final = "untrusted-0123456789abcdef"
_UNSHOWN: Final = frozenset({"examples", "x-mainspring-anti-examples", "$schema"})
_NOBODY: Final = AgentTask("", "", (), {}, "", None, AgentLimits(1, 1, None, None, None), b"")
_OURS: Final = len(build_system_prompt(_NOBODY, _MARK)) // TOKEN_CHARACTERS.value


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """What is read and what is written, in one ask or over a whole conversation."""

    read: int
    written: int

    def cost(self, price: Price) -> Decimal:
        return price.cost(self.read, self.written)


@dataclass(frozen=True, slots=True)
class ModelUseEstimate:
    """What a step asks of a model."""

    # As the ledger knows it.
    caller: str
    # Empty: the usual one. None: an expression decides.
    model: str | None
    low: TokenEstimate
    usual: TokenEstimate
    most: TokenEstimate
    # Turns that the usual is reckoned with.
    turns: int = 1
    max_usd: Decimal | None = None
    # What the first ask alone can take, for which money is set aside before it is made.
    first: TokenEstimate = TokenEstimate(0, 0)

    def bound(self, price: Price) -> Decimal:
        """The most that its tokens can cost, however they are read and written."""
        read, written = self.most.read, self.most.written
        usd = max(price.most(read, written), price.most(read + written, 0))
        return usd if self.max_usd is None else min(usd, self.max_usd)


def asking_of(
    capability: str, config: Mapping[str, Any], usual_model: str, room: int, words: Vocabulary
) -> ModelUseEstimate:
    """What a call of a capability that asks models will take, with these unfinished arguments."""
    given = config.get("model")
    model: str | None = given if isinstance(given, str) and given else usual_model
    model = None if "{{" in (model or "") else model
    if capability == AGENT_RUN:
        return _agent(config, model, room, words)
    return _answer(capability, config, model, room)


def _answer(
    capability: str, config: Mapping[str, Any], model: str | None, room: int
) -> ModelUseEstimate:
    said = [text(one.get("content")) for one in entries(config.get("messages"))]
    texts = [text(config.get("prompt")), text(config.get("system")), *said]
    least, usually, open_ended = _read(texts)
    longest = whole(config.get("max_tokens"), ANSWER_DEFAULT, 1, ANSWER_MOST)
    around = _AROUND * sum(map(bool, texts))
    sends = ModelRequest("", tuple(ModelMessage("user", one) for one in texts if one))
    most = room if open_ended else min(reads_at_most(sends), room)
    written = min(longest, room)
    return ModelUseEstimate(
        caller=capability,
        model=model,
        low=TokenEstimate(least + around, min(SHORT_ANSWER_TOKENS.value, longest)),
        usual=TokenEstimate(usually + around, min(ANSWER_TOKENS.value, longest)),
        most=TokenEstimate(min(most, max(room - written, 0)), written),
        max_usd=money(config.get("max_usd")),
        first=TokenEstimate(reads_at_most(sends), longest),
    )


def _agent(
    config: Mapping[str, Any], model: str | None, room: int, words: Vocabulary
) -> ModelUseEstimate:
    documents = [text(one.get("text")) for one in entries(config.get("documents"))]
    texts = [text(config.get("prompt")), text(config.get("system"))]
    least, usually, _ = _read(texts)
    small, large, _ = _read(documents, DOCUMENT_TOKENS.value)
    tools = list(_offered(config.get("tools"), words.capabilities))
    fixed = _OURS + sum(tools) + _shape(config.get("output_schema")) + _AROUND * 4
    allowed = whole(config.get("max_turns"), DEFAULT_TURNS, 1, MOST_TURNS)
    longest = whole(config.get("max_tokens"), DEFAULT_TOKENS, 16, MOST_TOKENS)
    turns = min(allowed, TURNS_WITH_TOOLS.value if tools else TURNS_ALONE.value)
    call, answer = min(CALL_TOKENS.value, longest), min(ANSWER_TOKENS.value, longest)
    grows = sum(turn * (call + TOOL_TOKENS.value) for turn in range(turns))
    first = fixed + usually + large
    room = min(room, whole(config.get("max_total_tokens"), room, 1, room or 1))
    written = min(allowed * longest, room)
    sends = ModelRequest("", tuple(ModelMessage("user", one) for one in (*texts, *documents)))
    at_most = reads_at_most(sends) + fixed * TOKEN_CHARACTERS.value
    return ModelUseEstimate(
        caller=AGENT_RUN,
        model=model,
        low=TokenEstimate(fixed + least + small, min(SHORT_ANSWER_TOKENS.value, longest)),
        usual=TokenEstimate(first * turns + grows, call * (turns - 1) + answer),
        most=TokenEstimate(room - written, written),
        turns=turns,
        max_usd=money(config.get("max_usd")),
        first=TokenEstimate(at_most, longest),
    )


def _read(texts: list[str], alone: int = EXPRESSION_TOKENS.value) -> tuple[int, int, bool]:
    """Tokens of what is written, the same with what expressions put there, and whether any do.

    A text that is one expression and nothing else stands for ``alone`` tokens.
    """
    characters, filled = 0, 0
    for one in texts:
        begin, *pieces = one.split("{{")
        spoken = len(begin)
        for piece in pieces:
            spoken += len(piece.partition("}}")[2])
        characters += spoken
        bare = len(pieces) == 1 and not begin.strip() and spoken <= 2
        filled += alone if bare else EXPRESSION_TOKENS.value * len(pieces)
    written = -(-characters // TOKEN_CHARACTERS.value)
    return written, written + filled, filled > 0


def _offered(given: Any, capabilities: Mapping[str, Capability]) -> Iterator[int]:
    """The tokens of each tool that a model is told of, in every turn."""
    named = map(read_tool_name, (given if isinstance(given, list) else [])[:_MOST_TOOLS])
    names = list(dict.fromkeys(name for name in named if name))
    patterns = [name for name in names if is_pattern(name)][:_MOST_PATTERNS]
    meant = (name for pattern in patterns for name in match_pattern(pattern, capabilities))
    found = dict.fromkeys([*(name for name in names if not is_pattern(name)), *meant])
    for name in islice(found, _MOST_TOOLS):
        known = capabilities.get(name)
        size = 0 if known is None else len(known.description) + _size(known.input_schema)
        yield _AROUND + (len(name) + size) // TOKEN_CHARACTERS.value


def _shape(schema: Any) -> int:
    return _size(mapping(schema)) // TOKEN_CHARACTERS.value


def _size(schema: Mapping[str, Any]) -> int:
    shown = {key: value for key, value in schema.items() if key not in _UNSHOWN}
    try:
        return len(canonical_json(shown))
    except (TypeError, ValueError, RecursionError):
        return 0
