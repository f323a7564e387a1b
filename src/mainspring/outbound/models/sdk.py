"""The one module that loads the providers' libraries; it is loaded when a model is asked.

Each ask gets a client of its own that is thrown away: building one takes a moment, and nothing of
one ask, one workspace or one key can then be found in another. A client holds no key, tries once,
and reads nothing from the environment that would reach the wire (see ``line``).
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx2
from pydantic_ai.direct import model_request
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from mainspring.contracts.model import ModelRequest
from mainspring.outbound.models.message_conversion import (
    ParsedReply,
    from_response,
    to_messages,
    to_parameters,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

    from mainspring.outbound.models.transport import ModelEndpoint, ProviderTransport

# Stands where a library wants a key; the line never lets it out.
NO_KEY: Final = "unused"
# The line has a clock of its own; a library that has one too may not end an ask before it.
_NO_TIMEOUT: Final = httpx2.Timeout(86_400.0)

# A name that looks like one of OpenAI's says nothing about a model on another server.
_PLAIN: Final = OpenAIModelProfile(
    thinking_enabled_by_default=False,
    thinking_always_enabled=False,
    openai_supports_reasoning=False,
    openai_system_prompt_role=None,
    openai_supports_prompt_cache_breakpoints=False,
    openai_supports_strict_tool_definition=False,
)

# OpenAI's models that do not reason.
_SAMPLES: Final = re.compile(r"(ft:)?(chatgpt-4|gpt-(3\.5|4|5-chat))")

_LOGS: Final = ("anthropic", "openai", "httpx2", "httpcore2")


async def complete(
    endpoint: ModelEndpoint, request: ModelRequest, line: ProviderTransport
) -> ParsedReply:
    """Asks once and hands back what was said."""
    async with _client(line) as client:
        if endpoint.wire == "anthropic":
            model, settings = _anthropic(endpoint, request, client)
        else:
            model, settings = _openai(endpoint, request, client)
        response = await model_request(
            model,
            to_messages(request, model.system),
            model_settings=settings,
            model_request_parameters=to_parameters(request),
            instrument=False,
        )
    return from_response(response)


async def embed(
    endpoint: ModelEndpoint, texts: Sequence[str], line: ProviderTransport
) -> list[list[float]]:
    """A vector for each text, in their order."""
    async with _client(line) as client:
        vectors_of = _openai_provider(endpoint, client).client.with_options(max_retries=0)
        if endpoint.kind == "openai":
            # The library asks for packed numbers by itself, which not every server knows.
            answer = await vectors_of.embeddings.create(model=endpoint.model, input=list(texts))
        else:
            answer = await vectors_of.embeddings.create(
                model=endpoint.model, input=list(texts), encoding_format="float"
            )
    ordered = sorted(answer.data, key=lambda entry: entry.index)
    vectors = [[float(number) for number in entry.embedding] for entry in ordered]
    whole = [entry.index for entry in ordered] == list(range(len(texts)))
    if not whole or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
        raise ValueError("there is not one vector for each text")
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        raise ValueError("a vector has something in it that is no number")
    return vectors


def _client(line: ProviderTransport) -> httpx2.AsyncClient:
    for name in _LOGS:
        # At its lower levels a library writes whole conversations into the log, so it does that
        # only where somebody has asked for it.
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:
            log.setLevel(logging.WARNING)
    return httpx2.AsyncClient(
        transport=line, trust_env=False, follow_redirects=False, timeout=_NO_TIMEOUT
    )


def _anthropic(
    endpoint: ModelEndpoint, request: ModelRequest, client: httpx2.AsyncClient
) -> tuple[Model[Any], ModelSettings]:
    base_url = endpoint.base_url.removesuffix("/v1")
    model = AnthropicModel(
        endpoint.model,
        provider=AnthropicProvider(api_key=NO_KEY, base_url=base_url, http_client=client),
        profile={"json_schema_transformer": None},
    )
    # Under the API version that the library sends, a temperature is refused for every model.
    settings = AnthropicModelSettings(max_tokens=request.max_tokens, max_retries=0)
    if request.tools:
        # A conversation with tools is read again at every turn, and what is put aside costs a
        # tenth then; one without is asked once, and putting it aside would only cost more.
        settings["anthropic_cache_instructions"] = True
        settings["anthropic_cache_tool_definitions"] = True
        settings["anthropic_cache_messages"] = True
        if request.choice == "none":
            settings["tool_choice"] = "none"
    return model, settings


def _openai(
    endpoint: ModelEndpoint, request: ModelRequest, client: httpx2.AsyncClient
) -> tuple[Model[Any], ModelSettings]:
    profile = OpenAIModelProfile(json_schema_transformer=None)
    if endpoint.kind != "openai":
        profile = {**profile, **_PLAIN}
        profile["openai_chat_supports_max_completion_tokens"] = endpoint.kind == "groq"
    provider = _openai_provider(endpoint, client)
    model = OpenAIChatModel(endpoint.model, provider=provider, profile=profile)
    settings = OpenAIChatModelSettings(max_tokens=request.max_tokens, max_retries=0)
    if request.temperature is not None and _takes_temperature(endpoint, model):
        settings["temperature"] = request.temperature
    if request.tools and request.choice == "none":
        settings["tool_choice"] = "none"
    return model, settings


def _takes_temperature(endpoint: ModelEndpoint, model: OpenAIChatModel) -> bool:
    """Whether sampling can be set: OpenAI's models refuse it while they reason."""
    if endpoint.kind != "openai":
        return True
    profile = model.profile
    known = _SAMPLES.match(endpoint.model) or profile.get("openai_supports_reasoning", False)
    # A model that the library does not know yet is newer than it, and those reason.
    return bool(known) and not profile.get("thinking_enabled_by_default", False)


def _openai_provider(
    endpoint: ModelEndpoint, client: httpx2.AsyncClient
) -> OpenAIProvider | OpenAICompatibleProvider:
    if endpoint.kind == "openai":
        return OpenAIProvider(api_key=NO_KEY, base_url=endpoint.base_url, http_client=client)
    return OpenAICompatibleProvider(
        endpoint.kind, api_key=NO_KEY, base_url=endpoint.base_url, http_client=client
    )
