"""A model: text in, text out, at a price per token.

Whoever connects models to this installation fills ``Models``; everybody else asks through the
gate, which knows what may be spent. A price that is not known is no price: nothing is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, Protocol

from mainspring.contracts.errors import Clash, Problem, Upstream

DEFAULT_MODEL: Final = "claude-sonnet-4-6"
CUT_OFF: Final = "model_cut_off"
_MILLION: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked."""

    model: str
    messages: tuple[ModelMessage, ...]
    system: str | None = None
    max_tokens: int = 1_024
    temperature: float | None = None


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


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in dollars for a million tokens."""

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal
    # None: what was read before costs as much as anything else.
    cached_usd_per_million: Decimal | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        """What this many tokens come to."""
        again = min(cached_tokens, input_tokens)
        cached = self.cached_usd_per_million
        usual = self.input_usd_per_million
        usd = (
            (input_tokens - again) * usual
            + again * (usual if cached is None else cached)
            + output_tokens * self.output_usd_per_million
        )
        return usd / _MILLION

    def as_dict(self) -> dict[str, str]:
        """The price as it is kept beside what it was used for."""
        shown = {
            "input_usd_per_million": str(self.input_usd_per_million),
            "output_usd_per_million": str(self.output_usd_per_million),
        }
        if self.cached_usd_per_million is not None:
            shown["cached_usd_per_million"] = str(self.cached_usd_per_million)
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


class Models(Protocol):
    """The models that an installation can reach."""

    @property
    def connected(self) -> bool:
        """Whether there is any model at all."""
        ...

    @property
    def default_model(self) -> str:
        """The model of an automation that names none."""
        ...

    def price(self, model: str) -> Price | None:
        """What a model costs; None when nobody knows. A problem when none can be asked."""
        ...

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        """Asks once. A problem means that nothing is charged, unless it is ``cut_off``.

        The key is the same over all attempts at one call, for providers that know such keys.
        """
        ...


def cut_off(detail: str, *, retry_after: float | None = None) -> Upstream:
    """An answer that broke off: the provider may charge for it, and nobody knows how much."""
    return Upstream(detail, code=CUT_OFF, retry_after=retry_after)


def no_model() -> Problem:
    """The one answer while no model is connected."""
    return Clash(
        "No model is connected to this installation.",
        code="no_model",
        suggestion="Ask the operator to connect a model, or let the step do without one.",
    )


class NoModels:
    """An installation without a model; it says so to whoever asks."""

    connected = False
    default_model = DEFAULT_MODEL

    def price(self, model: str) -> Price | None:
        raise no_model()

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        raise no_model()
