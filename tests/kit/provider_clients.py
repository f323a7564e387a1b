"""A connection to the double of a provider, as the product has it: real libraries, real egress."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelMessage, ModelReply, ModelRequest, ModelTool
from mainspring.outbound.egress import Egress
from mainspring.outbound.models.model_client import Kind, ModelEndpoint, ask, embed
from tests.kit.model_server import ModelServer, Script, model_server

KEY = "sk-the-key-of-the-tests-0123456789"
MODELS: Mapping[Kind, str] = {
    "anthropic": "claude-sonnet-4-6",
    "openai": "gpt-4.1",
    "groq": "llama-4",
    "compatible": "local-1",
}
LOOK = ModelTool(
    "look_up",
    "Looks something up.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Where to look",
        "properties": {
            "at": {"type": "string", "minLength": 1, "default": "here"},
            "how": {"enum": ["fast", "well"]},
        },
        "required": ["at"],
        "additionalProperties": False,
    },
)


@dataclass(slots=True)
class Connection:
    """The way to one double."""

    server: ModelServer
    egress: Egress
    limits: Limits
    # Replaces the vault; empty: it has no key.
    secrets: dict[str, str] = field(default_factory=lambda: {"api_key": KEY})

    def endpoint(self, kind: Kind, model: str = "") -> ModelEndpoint:
        base = self.server.url if kind == "anthropic" else self.server.openai_url
        return ModelEndpoint(kind, base, f"my-{kind}", model or MODELS[kind], bool(self.secrets))

    async def ask(self, kind: Kind, request: ModelRequest | str, model: str = "") -> ModelReply:
        return await self.at(self.endpoint(kind, model), request)

    async def at(self, endpoint: ModelEndpoint, request: ModelRequest | str) -> ModelReply:
        asked = said(request) if isinstance(request, str) else request
        way = self.egress.bound(frozenset({self.server.pair}), self._reveal)
        return await ask(endpoint, asked, way, self.limits, key="run/step/1")

    async def embed(
        self, texts: Sequence[str], kind: Kind = "openai"
    ) -> tuple[list[list[float]], int]:
        way = self.egress.bound(frozenset({self.server.pair}), self._reveal)
        return await embed(self.endpoint(kind, "text-embedding-3-small"), texts, way, self.limits)

    async def _reveal(self, names: frozenset[str]) -> Mapping[str, str]:
        return {name: self.secrets[name] for name in names if name in self.secrets}


def said(text: str, *, tools: tuple[ModelTool, ...] = ()) -> ModelRequest:
    """A conversation of one turn."""
    return ModelRequest("", (ModelMessage("user", text),), max_tokens=200, tools=tools)


@asynccontextmanager
async def connected(
    script: Script = (),
    *,
    limits: Limits | None = None,
    key: str | None = KEY,
    models: Sequence[str] | None = None,
    plain: bool = False,
) -> AsyncIterator[Connection]:
    """A double with a script, and the way to it."""
    bounds = limits or Limits()
    roomy = replace(
        bounds,
        http_seconds=bounds.model_seconds,
        http_request_bytes=bounds.model_request_bytes,
        http_response_bytes=bounds.model_response_bytes,
    )
    async with model_server(script, key=key, models=models, plain=plain) as server:
        egress = Egress(roomy, [server.pair])
        try:
            yield Connection(server, egress, bounds)
        finally:
            await egress.aclose()
