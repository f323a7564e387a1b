"""URL mode elicitation: the client opens the page where its person answers.

What the client says about it is no answer. It only tells whether the page is opened for a person;
the person signs in there and answers there. A call that needs a person is made again, and that
second call waits for what the person decides.

Up to 2025-11-25 the server sends a request to the client. From 2026-07-28 on the result of the
call says what is needed, and the client sends the call again with its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from mainspring.contracts.errors import PersonRequired

METHOD: Final = "elicitation/create"
COMPLETE: Final = "notifications/elicitation/complete"
# The first version of the protocol that has the URL mode.
URL_VERSION: Final = "2025-11-25"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_KEY: Final = "person"

# Makes the call again; it waits for the person until the event is set.
Serve = Callable[[asyncio.Event], Awaitable[Any]]
# Has the client open the page of a call that needs a person, and makes the call again; the client
# waits for so many seconds.
AskPerson = Callable[[PersonRequired, Serve, float], Awaitable[Any]]
# Sends the client a request, and answers what its person did with it: accept, decline or cancel.
Send = Callable[[dict[str, Any]], Awaitable[str]]
# Tells the client that the elicitation of this id is done.
Complete = Callable[[str], Awaitable[None]]


class InputRequired(Exception):
    """The call needs an answer of the client first."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__("input required")
        self.result: dict[str, Any] = {
            "resultType": "input_required",
            "inputRequests": {_KEY: {"method": METHOD, "params": dict(params)}},
        }


def opens_urls(capabilities: Any) -> bool:
    """Whether a client with these capabilities opens pages; form mode alone does not count."""
    modes = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    return isinstance(modes, Mapping) and isinstance(modes.get("url"), Mapping)


def ask_by_request(send: Send, complete: Complete) -> AskPerson:
    """For versions in which the server sends requests to the client."""

    async def ask(problem: PersonRequired, serve: Serve, seconds: float) -> Any:
        dismissed, elicitation_id = asyncio.Event(), str(uuid4())

        async def open_page() -> None:
            if await send({**_params(problem), "elicitationId": elicitation_id}) != "accept":
                dismissed.set()

        asking = asyncio.create_task(open_page())
        try:
            value = await serve(dismissed)
        except PersonRequired:
            # It does not wait for the person; the client still shows the page.
            await asyncio.wait({asking}, timeout=seconds)
            raise
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        if not _is_pending(value):
            await complete(elicitation_id)
        return value

    return ask


def ask_by_result(params: Mapping[str, Any]) -> AskPerson | None:
    """For versions in which the call is sent again; None: the client opens no pages."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or not opens_urls(meta.get(_CAPABILITIES)):
        return None

    async def ask(problem: PersonRequired, serve: Serve, seconds: float) -> Any:
        del serve, seconds
        if _response(params) is None:
            raise InputRequired(_params(problem))
        raise problem

    return ask


def has_opened(params: Mapping[str, Any]) -> bool:
    """Whether a call was sent again because the client has opened the page."""
    return _response(params) == "accept"


def _response(params: Mapping[str, Any]) -> str | None:
    responses = params.get("inputResponses")
    found = responses.get(_KEY) if isinstance(responses, Mapping) else None
    return str(found.get("action")) if isinstance(found, Mapping) else None


def _is_pending(value: Any) -> bool:
    """Whether the person has not answered yet; of several drafts: all of them."""
    if not isinstance(value, Mapping):
        return False
    results = value.get("results")
    if isinstance(results, list):
        return any(map(_is_pending, results))
    return value.get("status") == "pending"


def _params(problem: PersonRequired) -> dict[str, Any]:
    return {"mode": "url", "message": problem.detail, "url": problem.url}
