"""The model interface: a conversation in, text and tool calls out, at a price per token.

Model providers implement ``ModelCatalog``; all other code calls models through the gate, which
enforces budgets. A model with an unknown price is not called.
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
    """A tool that a model may call by name."""

    # As providers accept it: letters, digits, underscores and hyphens, 64 at most.
    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool."""

    id: str
    name: str
    # Arguments that are not a JSON object are passed on as the original text.
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    id: str
    name: str
    content: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: str = ""
    # For an assistant message: the tool calls.
    calls: tuple[ToolCall, ...] = ()
    # For a user message: the tool results, before any content.
    results: tuple[ToolResult, ...] = ()
    # What the provider needs back with its own message, in its own format; empty when nothing.
    kept: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model."""

    # Empty means the default model.
    model: str
    messages: tuple[ModelMessage, ...]
    system: str | None = None
    max_tokens: int = 1_024
    temperature: float | None = None
    tools: tuple[ModelTool, ...] = ()
    # Whether the model may, must or must not call a tool.
    choice: Literal["auto", "any", "none"] = "auto"
    # The cost limit of this request; enforced by the gate, not sent to the provider. None: no
    # limit.
    max_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply and its usage."""

    text: str
    # The model as the provider names it.
    model: str
    # All input tokens; cached_tokens says how many of them came from the cache.
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    stop_reason: str = "end_turn"
    provider: str = ""
    calls: tuple[ToolCall, ...] = ()
    # The reasoning text, where a provider returns it.
    thoughts: str = ""
    # Input tokens written to the cache, where that costs more.
    stored_tokens: int = 0
    # See ModelMessage.kept.
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in dollars per million tokens."""

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal
    # None: cached input costs as much as other input.
    cached_usd_per_million: Decimal | None = None
    # None: writing to the cache costs nothing extra.
    stored_usd_per_million: Decimal | None = None
    # The price of the whole request when its input exceeds this many tokens.
    above: tuple[int, Price] | None = None

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int = 0, stored_tokens: int = 0
    ) -> Decimal:
        """The cost of this many tokens."""
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
        """The maximum cost of at most this many tokens."""
        below = replace(self, above=None)
        dearest = max(
            below.cost(input_tokens, output_tokens, *asides)
            for asides in ((0, 0), (input_tokens, 0), (0, input_tokens))
        )
        if self.above is None or input_tokens <= self.above[0]:
            return dearest
        return max(dearest, self.above[1].most(input_tokens, output_tokens))

    def as_dict(self) -> dict[str, Any]:
        """The price as stored with the usage that it was applied to."""
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
    """The usage of one model request, as stored in the ledger."""

    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    cached_tokens: int = 0
    provider: str = ""
    price: Mapping[str, Any] | None = None
    ms: int = 0
    # Reported by a script about a model of its own.
    reported: bool = False

    @property
    def tokens(self) -> int:
        """The tokens that count towards a run's cap: input and output together."""
        return self.input_tokens + self.output_tokens


class Model(Protocol):
    """One model that a workspace can use."""

    @property
    def name(self) -> str:
        """The name by which it was found, as stored in the ledger."""
        ...

    @property
    def price(self) -> Price | None:
        """Its price; None when unknown, and then it is not called."""
        ...

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        """Send one request. An error means that nothing is charged, unless it is ``cut_off``.

        The key is the same over all attempts of one call, for providers that support idempotency
        keys.
        """
        ...


class ModelCatalog(Protocol):
    """The models that the workspaces of an installation can use."""

    async def connected(self, workspace_id: UUID) -> bool:
        """Whether a workspace can use any model."""
        ...

    async def find(self, workspace_id: UUID, name: str) -> Model:
        """A model by name, or the default one for an empty name; raises when there is none."""
        ...


def interrupted_reply_error(detail: str, *, retry_after: float | None = None) -> UpstreamError:
    """The error for an interrupted reply: the provider may charge an unknown amount for it."""
    return UpstreamError(detail, code=CUT_OFF, retry_after=retry_after)


def is_refusal(error: BaseException) -> bool:
    """Whether a provider refused, which is free; it may charge for an interrupted or late reply."""
    if not isinstance(error, Problem) or isinstance(error, DeadlineExceeded):
        return False
    return error.code != CUT_OFF


def no_model_error() -> Problem:
    """The error while no model is connected."""
    return Conflict(
        "No model is connected to this installation.",
        code=NO_MODEL,
        suggestion=(
            "Ask the operator to connect a model, or change the step so that it needs none."
        ),
    )


class EmptyModelCatalog:
    """An installation without a model."""

    async def connected(self, workspace_id: UUID) -> bool:
        del workspace_id
        return False

    async def find(self, workspace_id: UUID, name: str) -> Model:
        del workspace_id, name
        raise no_model_error()
