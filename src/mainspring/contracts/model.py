"""A model: a conversation in, words and calls out, at a price per token.

Whoever connects models to this installation fills ``Models``; everybody else asks through the
gate, which knows what may be spent. A price that is not known is no price: nothing is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal, Protocol
from uuid import UUID

from mainspring.contracts.errors import Conflict, DeadlineExceeded, Problem, UpstreamError

DEFAULT_MODEL: Final = "claude-sonnet-4-6"
CUT_OFF: Final = "model_cut_off"
NO_MODEL: Final = "no_model"
_MILLION: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """Something that a model may ask for by name."""

    # As a provider takes it: letters, digits, underscores and hyphens, 64 at most.
    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool."""

    id: str
    name: str
    # Arguments that are no JSON object are handed on as the text they came as.
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool that a model asked for."""

    id: str
    name: str
    content: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str = ""
    # Of an assistant's turn: what it asked for.
    calls: tuple[ToolCall, ...] = ()
    # Of a user's turn: what came of it, before any content.
    results: tuple[ToolResult, ...] = ()
    # What the provider wants back with its own turn, in its own spelling; empty: nothing.
    kept: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked."""

    # Empty: the model that is asked when nobody names one.
    model: str
    messages: tuple[ModelMessage, ...]
    system: str | None = None
    max_tokens: int = 1_024
    temperature: float | None = None
    tools: tuple[ModelTool, ...] = ()
    # Whether it may answer without a tool, must ask for one, or may not.
    choice: Literal["auto", "any", "none"] = "auto"
    # What this one ask may cost; the gate sees to it, and no provider is told. None: no bound.
    max_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered, and what it took."""

    text: str
    # The model as the provider names it.
    model: str
    # Everything it read; cached_tokens says how much of that it had read before.
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    stop_reason: str = "end_turn"
    provider: str = ""
    calls: tuple[ToolCall, ...] = ()
    # What it says of its thinking, where a provider tells.
    thoughts: str = ""
    # How much of what it read was put aside to be read again, where that costs more.
    stored_tokens: int = 0
    # See ModelMessage.kept.
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in dollars for a million tokens."""

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal
    # None: what was read before costs as much as anything else.
    cached_usd_per_million: Decimal | None = None
    # None: to put something aside for being read again costs nothing more.
    stored_usd_per_million: Decimal | None = None
    # What holds instead, for all of it, when more than so many tokens are read at once.
    above: tuple[int, Price] | None = None

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int = 0, stored_tokens: int = 0
    ) -> Decimal:
        """What this many tokens come to."""
        if self.above is not None and input_tokens > self.above[0]:
            return self.above[1].cost(input_tokens, output_tokens, cached_tokens, stored_tokens)
        again = min(cached_tokens, input_tokens)
        aside = min(stored_tokens, input_tokens - again)
        usual = self.input_usd_per_million
        cached, stored = self.cached_usd_per_million, self.stored_usd_per_million
        usd = (
            (input_tokens - again - aside) * usual
            + again * (usual if cached is None else cached)
            + aside * (usual if stored is None else stored)
            + output_tokens * self.output_usd_per_million
        )
        return usd / _MILLION

    def most(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most that this many tokens, or fewer, can come to."""
        below = replace(self, above=None)
        dearest = max(
            below.cost(input_tokens, output_tokens, *asides)
            for asides in ((0, 0), (input_tokens, 0), (0, input_tokens))
        )
        if self.above is None or input_tokens <= self.above[0]:
            return dearest
        return max(dearest, self.above[1].most(input_tokens, output_tokens))

    def as_dict(self) -> dict[str, Any]:
        """The price as it is kept beside what it was used for."""
        shown: dict[str, Any] = {
            "input_usd_per_million": str(self.input_usd_per_million),
            "output_usd_per_million": str(self.output_usd_per_million),
        }
        if self.cached_usd_per_million is not None:
            shown["cached_usd_per_million"] = str(self.cached_usd_per_million)
        if self.stored_usd_per_million is not None:
            shown["stored_usd_per_million"] = str(self.stored_usd_per_million)
        if self.above is not None:
            shown["above"] = {"input_tokens": self.above[0], **self.above[1].as_dict()}
        return shown


@dataclass(frozen=True, slots=True)
class Usage:
    """What one ask of a model took, as the ledger keeps it."""

    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    cached_tokens: int = 0
    provider: str = ""
    price: Mapping[str, Any] | None = None
    ms: int = 0
    # A script's own word about a model of its own.
    reported: bool = False

    @property
    def tokens(self) -> int:
        """What counts toward a run's cap: read and written together."""
        return self.input_tokens + self.output_tokens


class Model(Protocol):
    """One model within reach of a workspace."""

    @property
    def name(self) -> str:
        """The name by which it was found, as the ledger keeps it."""
        ...

    @property
    def price(self) -> Price | None:
        """What it costs; None when nobody knows, and then it is not asked."""
        ...

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        """Asks once. A problem means that nothing is charged, unless it is ``cut_off``.

        The key is the same over all attempts at one call, for providers that know such keys.
        """
        ...


class ModelCatalog(Protocol):
    """The models that the workspaces of an installation can reach."""

    async def connected(self, workspace_id: UUID) -> bool:
        """Whether a workspace can reach any model at all."""
        ...

    async def find(self, workspace_id: UUID, name: str) -> Model:
        """A model by its name, or the usual one for an empty name; a problem when there is none."""
        ...


def interrupted_reply_error(detail: str, *, retry_after: float | None = None) -> UpstreamError:
    """An answer that broke off: the provider may charge for it, and nobody knows how much."""
    return UpstreamError(detail, code=CUT_OFF, retry_after=retry_after)


def is_refusal(error: BaseException) -> bool:
    """Whether a provider said no, which is free; it may charge for what broke off or was late."""
    if not isinstance(error, Problem) or isinstance(error, DeadlineExceeded):
        return False
    return error.code != CUT_OFF


def no_model_error() -> Problem:
    """The one answer while no model is connected."""
    return Conflict(
        "No model is connected to this installation.",
        code=NO_MODEL,
        suggestion="Ask the operator to connect a model, or let the step do without one.",
    )


class EmptyModelCatalog:
    """An installation without a model; it says so to whoever asks."""

    async def connected(self, workspace_id: UUID) -> bool:
        del workspace_id
        return False

    async def find(self, workspace_id: UUID, name: str) -> Model:
        del workspace_id, name
        raise no_model_error()
