"""What it means that a provider did not answer, as something that a person can act on.

Who pays is part of the meaning. A provider that says no takes nothing. One that was at work when
the connection broke, or whose answer cannot be counted, may charge for it, and its problem says so
by being ``cut_off``. What a provider says for itself is quoted in short where it helps, and never
where it may quote a key.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import (
    DeadlineExceeded,
    Finding,
    Invalid,
    Problem,
    TooLarge,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import interrupted_reply_error
from mainspring.outbound.http_fetch import parse_retry_after
from mainspring.outbound.models.reply_metadata import read_object
from mainspring.store.database_errors import log_and_convert_error

if TYPE_CHECKING:
    from mainspring.outbound.models.transport import ModelEndpoint, ProviderTransport

log = logging.getLogger(__name__)

# What the way out says with a host in it, said without.
_WITHOUT_HOST: Final[Mapping[str, str]] = {
    "address_not_public": "The address of {name} is not public, so it is not called.",
    "bad_response": "The server of {name} ended the connection or sent what cannot be read.",
    "connection_lost": "The connection to {name} was lost.",
    "host_not_approved": "The server of {name} may not be called.",
    "name_not_found": "No address was found for the server of {name}.",
    "secret_needs_host": "The server of {name} may not be sent its key.",
    "timed_out": "The server of {name} did not answer in time.",
    "tls_failed": "The server of {name} could not prove who it is: the secure connection failed.",
    "unreachable": "The server of {name} could not be reached.",
}
# Whoever is told of a host alone does not know which connection leads there.
_NOT_THERE: Final = frozenset({"name_not_found", "unreachable"})
_QUOTED: Final = 300
# Of the way out: the request had left when these happened.
_AFTER_ASKING: Final = frozenset(
    {"bad_response", "connection_lost", "response_too_large", "bad_encoding"}
)
# Something between us and the provider gave up waiting, or lost it.
_LOST_BETWEEN: Final = frozenset({408, 499, 502, 504, 520, 521, 522, 523, 524})
_BUSY: Final = frozenset({425, 429, 503, 529})
_TOO_LONG: Final = re.compile(
    r"prompt is too long|context.{0,20}length|context.{0,12}window|reduce the length", re.IGNORECASE
)
_NO_MONEY: Final = re.compile(r"insufficient_quota|billing_|credit_balance|spend_limit|usage_limit")
_BLANK: Final = re.compile(r"[\x00-\x20\x7f-\x9f]+")


def problem_of(
    endpoint: ModelEndpoint, line: ProviderTransport, error: Exception | None, limits: Limits
) -> Problem:
    """Why there is no answer, from what the line has seen of it."""
    if line.problem is not None:
        return _on_the_way(endpoint, line.problem)
    if line.status is None:
        # Nothing was sent, so it is a mistake of ours.
        return log_and_convert_error(error or RuntimeError("nothing was sent"))
    result = _parse_error_body(line.body)
    status = line.status
    if 200 <= status < 300:
        hidden = result.get("code")
        if not isinstance(hidden, int) or not 400 <= hidden < 600:
            return _unreadable(endpoint)
        # A gateway's way of handing on what somebody else said.
        status = hidden
    pause = parse_retry_after(
        line.headers.get("retry-after"), datetime.now(UTC), limits.retry_seconds
    )
    return _map_status(endpoint, status, result, pause)


def without_host(problem: Problem, name: str) -> Problem:
    """The same for somebody who may know the connection and not where it leads.

    The log has it whole, for whoever looks after the installation.
    """
    sentence = _WITHOUT_HOST.get(problem.code)
    if sentence is None:
        return problem
    log.warning("The model connection %s: %s", name, problem.detail)
    return type(problem)(
        sentence.format(name=name),
        code=problem.code,
        retry_after=problem.retry_after,
        retryable=problem.retryable,
    )


def _on_the_way(endpoint: ModelEndpoint, problem: Problem) -> Problem:
    if endpoint.hidden:
        problem = without_host(problem, endpoint.name)
    if isinstance(problem, DeadlineExceeded):
        return DeadlineExceeded(
            f"The model server of {endpoint.name} did not answer in time.", code="model_timeout"
        )
    if problem.code in _AFTER_ASKING:
        broken = interrupted_reply_error(
            f"The response of {endpoint.name} was cut off. {problem.detail}"
        )
        broken.retryable = problem.retryable
        return broken
    if problem.code in _NOT_THERE and not endpoint.hidden:
        problem.detail = f"The server of the model connection {endpoint.name}: {problem.detail}"
    return problem


def _unreadable(endpoint: ModelEndpoint) -> Problem:
    return interrupted_reply_error(
        f"The answer of {endpoint.name} is not whole: it does not say what it took, or it is not "
        "in the form that its kind of connection has."
    )


def _map_status(
    endpoint: ModelEndpoint, status: int, result: Mapping[str, Any], pause: float | None
) -> Problem:
    """What a status means; only the last ones may have cost something."""
    name = endpoint.name
    if status in {401, 403}:
        return _upstream(
            f"{name} does not accept the key of this connection."
            if endpoint.has_key
            else f"{name} requires a key, and this connection has none.",
            "model_key_refused",
            f"Give the model connection {name} a key that its provider accepts.",
        )
    said = str(result.get("message", ""))
    if status == 402 or _out_of_money(status, result, said):
        return _upstream(
            f"The account behind {name} has no money or quota left.",
            "model_account_empty",
            f"Check the account of the model connection {name} at its provider.",
        )
    if status in _BUSY:
        return UpstreamError(
            f"{name} is busy and did not take the request.", code="model_busy", retry_after=pause
        )
    if status in _LOST_BETWEEN:
        return interrupted_reply_error(
            f"{name} did not answer: something on the way to it gave up (status {status}).",
            retry_after=pause,
        )
    if status == 413 or (status in {400, 422} and _TOO_LONG.search(said)):
        return TooLarge(
            f"The conversation is longer than {endpoint.model} "
            f"takes.{_format_provider_message(result)}",
            code="model_request_too_large",
            suggestion="Give the model less to read, or name one that reads more.",
        )
    return _other(endpoint, status, result)


def _out_of_money(status: int, result: Mapping[str, Any], text: str) -> bool:
    """Told in a code, or in one sentence; other sentences name money without meaning it."""
    if status not in {400, 429}:
        return False
    named = f"{result.get('code')} {result.get('type')}"
    return bool(_NO_MONEY.search(named)) or "credit balance is too low" in text


def _other(endpoint: ModelEndpoint, status: int, result: Mapping[str, Any]) -> Problem:
    name = endpoint.name
    if status == 404 and result:
        detail = f"{name} has no model called {endpoint.model}, or its key may not use it."
        way_out = "Name a model that the connection offers."
        found = Finding("/model", detail, "unknown_model", way_out)
        return Invalid(detail, code="unknown_model", findings=[found], suggestion=way_out)
    if 300 <= status < 400 or status in {404, 405}:
        return _upstream(
            f"There is no model server at the address of {name} (status {status}).",
            "model_address",
            f"Check the address of the model connection {name}.",
        )
    if 400 <= status < 500:
        return Invalid(
            f"{name} did not take the request.{_format_provider_message(result)}",
            code="model_refused",
        )
    return UpstreamError(
        f"{name} failed with status {status}.{_format_provider_message(result)}",
        code="model_failed",
    )


def _upstream(detail: str, code: str, suggestion: str) -> UpstreamError:
    return UpstreamError(detail, code=code, suggestion=suggestion, retryable=False)


def _parse_error_body(body: bytes) -> dict[str, Any]:
    """What an error's body tells, in whichever of the providers' shapes."""
    found = read_object(body) or {}
    error = found.get("error", found.get("detail"))
    if isinstance(error, str):
        return {"message": error}
    if isinstance(error, dict):
        return error
    message = found.get("message")
    return {"message": message} if isinstance(message, str) else {}


def _format_provider_message(result: Mapping[str, Any]) -> str:
    """The provider's own sentence, on one line and short."""
    message = result.get("message")
    if not isinstance(message, str) or not message.strip():
        return ""
    line = _BLANK.sub(" ", message).strip()
    short = line if len(line) <= _QUOTED else f"{line[:_QUOTED]} …"
    return f" It said: {short}"
