"""A trial of a connection that costs nothing: it is asked which models it has.

That shows whether the address answers, whether the key is taken and how the models are named.
No model is asked, so nothing is paid and nothing of the workspace leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import Problem
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.outbound.egress import CallHttp
from mainspring.outbound.models.failures import without_host
from mainspring.workspace.model_connections import API_KEY, ModelConnection

_SECONDS: Final = 20.0
_MOST_BYTES: Final = 2_097_152
_SHOWN: Final = 500
_LONGEST_NAME: Final = 200
# Anthropic wants to know which edition of its language is spoken.
_EDITION: Final = {"anthropic-version": "2023-06-01"}


@dataclass(frozen=True, slots=True)
class ModelConnectionTest:
    """What came of it, in a sentence."""

    works: bool
    detail: str
    models: tuple[str, ...] = ()


async def try_out(
    connection: ModelConnection, http: CallHttp, *, hidden: bool
) -> ModelConnectionTest:
    """Asks for the list of models; where it leads may be hidden from who asks."""
    anthropic = connection.kind == "anthropic"
    url = f"{connection.base_url}{'/v1/models' if anthropic else '/models'}"
    headers = {
        "accept": "application/json",
        **(_EDITION if anthropic else {}),
        **_let_in(connection),
    }
    try:
        answer = await http.send(
            HttpRequest(
                "GET",
                url,
                headers,
                {},
                timeout_seconds=_SECONDS,
                max_bytes=_MOST_BYTES,
                follow_redirects=False,
            )
        )
    except Problem as problem:
        told = without_host(problem, connection.name) if hidden else problem
        return ModelConnectionTest(False, told.detail)
    return _interpret_listing(answer)


def _let_in(connection: ModelConnection) -> Mapping[str, str | SecretText]:
    if not connection.has_key:
        return {}
    if connection.kind == "anthropic":
        return {"x-api-key": SecretText((SecretRef(API_KEY),))}
    return {"authorization": SecretText(("Bearer ", SecretRef(API_KEY)))}


def _interpret_listing(answer: HttpResponse) -> ModelConnectionTest:
    if answer.status in (401, 403):
        return ModelConnectionTest(
            False, f"It answers, but does not take the key (HTTP {answer.status})."
        )
    if answer.status == 404:
        return ModelConnectionTest(
            False, "Something answers there, but it has no list of models. Is the path right?"
        )
    if answer.status != 200:
        return ModelConnectionTest(False, f"It answers with HTTP {answer.status}.")
    models = _names(answer.body)
    if models is None:
        return ModelConnectionTest(
            False, "Something answers there, but not in the language of models."
        )
    count = "1 model" if len(models) == 1 else f"{len(models)} models"
    return ModelConnectionTest(True, f"It answers and lists {count}.", models)


def _names(body: bytes) -> tuple[str, ...] | None:
    try:
        result: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    listed = result.get("data") if isinstance(result, dict) else None
    if not isinstance(listed, list):
        return None
    names = [one.get("id") for one in listed if isinstance(one, dict)]
    return tuple(name[:_LONGEST_NAME] for name in names if isinstance(name, str))[:_SHOWN]
