"""Asking a provider of models once: our words in, our words out, over our own way.

The provider's libraries translate and are given nothing else: no key, no connection of their own,
no second try. They take long to load, so they are loaded when the first model is asked, beside
the loop. What an answer took is read from the answer itself, and an answer that does not say it
is treated as broken off: it may be charged, and nobody knows how much.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Invalid, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import CallHttp
from mainspring.outbound.egress.transport import EgressTransport
from mainspring.outbound.models import failures, reply_metadata
from mainspring.outbound.models.model_replies import drop_deep_arguments
from mainspring.outbound.models.transport import Kind, ModelEndpoint, ProviderTransport
from mainspring.outbound.request_tracking import mark_unsent

if TYPE_CHECKING:
    from mainspring.outbound.models.message_conversion import ParsedReply

__all__ = ["Kind", "ModelEndpoint", "ask", "embed", "is_loaded", "load"]

_SDK: Final = "mainspring.outbound.models.sdk"
_loaded: Final[list[ModuleType]] = []

# The name under which the way out knows the key of a connection.
API_KEY: Final = "api_key"
# What one request for vectors carries. A provider takes more, but an answer is bounded too, and
# servers other than OpenAI's spell every number out.
_TEXTS: Final = 128
_TEXTS_SPELLED_OUT: Final = 32
_CHARACTERS: Final = 400_000


async def ask(
    endpoint: ModelEndpoint, request: ModelRequest, http: CallHttp, limits: Limits, *, key: str
) -> ModelReply:
    """Asks once. A problem means that nothing is charged, unless it is ``cut_off`` or late.

    What ends before the request has left is not charged, however it ends.
    """
    mark_unsent()
    sdk = await load()
    line = _line(endpoint, http, limits, key)
    try:
        said = await sdk.complete(endpoint, request, line)
    except Exception as error:
        raise failures.problem_of(endpoint, line, error, limits) from None
    answer = _read_metadata(endpoint, line, limits)
    reply = ModelReply(
        text=said.text or answer.refusal,
        model=answer.model or endpoint.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_tokens=answer.cached_tokens,
        stored_tokens=answer.stored_tokens,
        stop_reason=_find_finish_reason(said, answer),
        provider=endpoint.name,
        calls=said.calls,
        thoughts=said.thoughts,
        kept=said.kept,
    )
    return drop_deep_arguments(reply, limits.json_depth)


async def embed(
    endpoint: ModelEndpoint, texts: Sequence[str], http: CallHttp, limits: Limits
) -> tuple[list[list[float]], int]:
    """A vector for each text, in their order, and the tokens that it took."""
    if endpoint.wire == "anthropic":
        raise Invalid(
            f"{endpoint.name} has no model for vectors.",
            code="no_vectors",
            suggestion="Name a connection of another kind.",
        )
    mark_unsent()
    sdk = await load()
    vectors: list[list[float]] = []
    tokens = 0
    most = _TEXTS if endpoint.kind == "openai" else _TEXTS_SPELLED_OUT
    for group in _groups(texts, most):
        line = _line(endpoint, http, limits, "")
        try:
            vectors += await sdk.embed(endpoint, group, line)
        except Exception as error:
            raise failures.problem_of(endpoint, line, error, limits) from None
        # A server of one's own may not count; a token has more than two characters.
        counted = reply_metadata.embedding_tokens(line.body)
        tokens += sum(len(text) // 2 + 1 for text in group) if counted is None else counted
    return vectors, tokens


def _find_finish_reason(said: ParsedReply, answer: reply_metadata.ProviderReplyMetadata) -> str:
    """Why the answer ended."""
    if said.cut and answer.finish != "refusal":
        return "max_tokens"
    # Some servers say that they are done when they ask for a tool.
    return "tool_use" if said.calls and answer.finish == "end_turn" else answer.finish


def _read_metadata(
    endpoint: ModelEndpoint, line: ProviderTransport, limits: Limits
) -> reply_metadata.ProviderReplyMetadata:
    """What the answer says of itself, or a problem when it does not."""
    answer = reply_metadata.read_answer(endpoint.wire, line.body)
    if answer is None:
        raise failures.problem_of(endpoint, line, None, limits)
    return answer


def _line(endpoint: ModelEndpoint, http: CallHttp, limits: Limits, key: str) -> ProviderTransport:
    headers: dict[str, str | SecretText] = {"user-agent": "mainspring"}
    if endpoint.has_key and endpoint.wire == "anthropic":
        headers["x-api-key"] = SecretText((SecretRef(API_KEY),))
    elif endpoint.has_key:
        headers["authorization"] = SecretText(("Bearer ", SecretRef(API_KEY)))
    if key:
        # The key tells of runs and steps, which are nobody's business outside.
        headers["idempotency-key"] = hashlib.sha256(key.encode()).hexdigest()[:32]
    carried = EgressTransport(
        http,
        seconds=float(limits.model_seconds),
        most_bytes=limits.model_response_bytes,
        headers=headers,
    )
    return ProviderTransport(carried)


def _groups(texts: Sequence[str], most: int) -> list[list[str]]:
    groups: list[list[str]] = []
    size = 0
    for text in texts:
        if len(text) > _CHARACTERS:
            raise TooLarge(f"A text for vectors has at most {_CHARACTERS} characters.")
        size += len(text)
        if not groups or len(groups[-1]) >= most or size > _CHARACTERS:
            groups.append([])
            size = len(text)
        groups[-1].append(text)
    return groups


def is_loaded() -> bool:
    """Whether the providers' libraries are there."""
    return bool(_loaded)


async def load() -> ModuleType:
    """The module with the providers' libraries, which takes seconds when it is the first time."""
    if not _loaded:
        # Not before it is whole: a module that is being imported is known by its name already.
        _loaded.append(await asyncio.to_thread(importlib.import_module, _SDK))
    return _loaded[0]
