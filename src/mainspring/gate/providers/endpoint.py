"""One model at one connection, as the wire needs to know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mainspring.gate.providers.reading import WireName

Kind = Literal["anthropic", "openai", "groq", "compatible"]


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where a model is, and which language is spoken there."""

    kind: Kind
    # Such as https://api.anthropic.com or https://api.openai.com/v1.
    base_url: str
    # The connection's name, for the ledger and for problems.
    name: str
    # As the provider names it.
    model: str
    has_key: bool
    # Where the installation's own connections lead is for administrators to know.
    hidden: bool = False

    @property
    def wire(self) -> WireName:
        return "anthropic" if self.kind == "anthropic" else "openai"
