"""respond: the answer to the caller of the webhook that started the run.

The step only builds the answer. It is recorded as the step's output, so a repeated request with the
same idempotency key gets the same answer, also after a restart. The server sends it to the caller
of a webhook that waits, with the restrictions below: an answer is served from the origin of the
page, so it must not set cookies or change how the browser treats that origin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Finding, Invalid

_CONTENT: Final = ("body", "template", "redirect", "artifact")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_EMPTY: Final = (204, 205, 304)
_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]{0,2000}")
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(;[\x20-\x7e]*)?")
_MOST_HEADERS: Final = 30
# Headers that only the server sets: they describe the connection or the length of the message, or
# they change how browsers treat the whole origin.
_RESERVED: Final = frozenset(
    {
        "alt-svc",
        "clear-site-data",
        "connection",
        "content-encoding",
        "content-length",
        "content-security-policy",
        "content-security-policy-report-only",
        "content-type",
        "date",
        "keep-alive",
        "location",
        "nel",
        "origin-agent-cluster",
        "permissions-policy",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "server",
        "service-worker-allowed",
        "set-cookie",
        "set-cookie2",
        "sourcemap",
        "strict-transport-security",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
        "x-content-type-options",
        "x-frame-options",
        "x-request-id",
    }
)
_RESERVED_PREFIXES: Final = (
    "access-control-",
    "cross-origin-",
    "idempoten",
    "mainspring-",
    "proxy-",
    "sec-",
    "x-accel-",
    "x-sendfile",
)


def is_reserved_header(name: str) -> bool:
    """Whether only the server may set this response header."""
    lower = name.lower()
    return lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES)


async def respond(ctx: StepContext, config: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as a value: status, headers, and one of body, text, redirect and artifact."""
    del ctx
    given = [name for name in _CONTENT if name in config]
    if len(given) > 1:
        raise _invalid(f"/{given[1]}", f"An answer has either {given[0]} or {given[1]}.")
    answer: dict[str, Any] = {
        "status": config.get("status", 303 if "redirect" in config else 200),
        "headers": _read_headers(config.get("headers", {})),
    }
    if "redirect" in config:
        return _redirect(answer, config["redirect"])
    if "artifact" in config:
        return {**answer, "artifact": _read_artifact(config["artifact"])}
    if answer["status"] in _EMPTY or not given:
        return answer
    if "template" in config:
        media_type = _read_media_type(config.get("content_type", _HTML))
        return {**answer, "content_type": media_type, "text": str(config["template"])}
    body = config["body"]
    if isinstance(body, str):
        media_type = _read_media_type(config.get("content_type", _TEXT))
        return {**answer, "content_type": media_type, "text": body}
    return {**answer, "body": body}


def _redirect(answer: dict[str, Any], url: Any) -> dict[str, Any]:
    text = str(url)
    parts = _split_url(text)
    if parts is None:
        raise _invalid("/redirect", "redirect must be an http or https URL, or a path.")
    if answer["status"] not in _REDIRECTS:
        shown = ", ".join(str(one) for one in _REDIRECTS)
        raise _invalid("/status", f"The status of a redirect is one of {shown}.")
    return {**answer, "redirect": text}


def _split_url(text: str) -> str | None:
    """The URL if a browser may be sent there; None otherwise."""
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if parts.scheme in ("http", "https") and parts.netloc:
        return text
    is_path = text.startswith("/") and not text.startswith("//")
    return text if not parts.scheme and is_path else None


def _read_artifact(value: Any) -> str:
    try:
        return str(UUID(str(value)))
    except ValueError:
        raise _invalid(
            "/artifact",
            "artifact must be the id of a file that a step has saved.",
            "Write {{ steps.<id>.artifact_id }} of a step with artifacts.save.",
        ) from None


def _read_media_type(value: Any) -> str:
    text = str(value)
    if len(text) > 200 or not _MEDIA_TYPE.fullmatch(text):
        raise _invalid("/content_type", "content_type must be a media type such as text/html.")
    return text


def _read_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers.items():
        problem = _find_header_problem(name)
        if problem is not None:
            raise _invalid(f"/headers/{name}", problem)
        text = value if isinstance(value, str) else str(value)
        if not _HEADER_VALUE.fullmatch(text):
            raise _invalid(
                f"/headers/{name}",
                "The value of a header is at most 2,000 visible ASCII characters on one line.",
            )
        found[name] = text.strip()
    return found


def _find_header_problem(name: str) -> str | None:
    if not _HEADER_NAME.fullmatch(name):
        return f"{name[:60]!r} is not the name of a header."
    if is_reserved_header(name):
        return f"An answer cannot set {name}."
    return None


def _invalid(pointer: str, detail: str, suggestion: str | None = None) -> Invalid:
    finding = Finding(pointer, detail, "respond", suggestion)
    return Invalid(detail, code="respond", findings=[finding], suggestion=suggestion)


_REMEDIES: Final = {
    "content-type": "Use content_type for the media type.",
    "location": "Use redirect.",
}


def _check(config: Mapping[str, Any], capabilities: Mapping[str, Capability]) -> Sequence[Finding]:
    """One kind of content, and only headers that an answer may set."""
    del capabilities
    found = []
    given = [name for name in _CONTENT if name in config]
    for name in given[1:]:
        detail = f"An answer has either {given[0]} or {name}."
        found.append(Finding(f"/{name}", detail, "respond", f"Leave {name} or {given[0]} out."))
    if "content_type" in config and not {"body", "template"} & set(given):
        detail = "content_type belongs to a body or a template."
        found.append(Finding("/content_type", detail, "respond", "Leave it out."))
    headers = config.get("headers")
    for name in headers if isinstance(headers, Mapping) else ():
        problem = _find_header_problem(str(name))
        if problem is not None:
            remedy = _REMEDIES.get(str(name).lower(), "Leave this header out.")
            found.append(Finding(f"/headers/{name}", problem, "respond_header", remedy))
    return found


RESPOND = Action(
    type="respond",
    description="Answer the caller of the webhook\n\n"
    "The caller of a webhook with `respond: by_step` or `when_done` gets this answer; the run "
    "continues after it. The first answer of a run counts.",
    config_schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "status": {
                "description": "The HTTP status; 200 unless given, and 303 for a redirect.",
                "type": "integer",
                "minimum": 200,
                "maximum": 599,
            },
            "headers": {
                "description": "Further response headers. Cookies, and headers that change how "
                "browsers treat the origin of this server, cannot be set.",
                "type": "object",
                "maxProperties": _MOST_HEADERS,
                "additionalProperties": {"type": "string", "maxLength": 2_000},
            },
            "body": {"description": "The answer: any JSON with templates. A text is sent as text."},
            "template": {
                "description": "A text with templates, sent as HTML unless content_type says "
                "otherwise. Pages are shown without scripts.",
                "type": "string",
                "maxLength": 100_000,
            },
            "content_type": {
                "description": "The media type of a template, or of a body that is a text.",
                "type": "string",
                "maxLength": 200,
                "examples": ["text/csv; charset=utf-8"],
            },
            "redirect": {
                "description": "Where the caller's browser goes.",
                "type": "string",
                "minLength": 1,
                "maxLength": 2_000,
                "examples": ["https://example.com/thanks"],
            },
            "artifact": {
                "description": "The id of a file that this automation has saved; it is sent as a "
                "download.",
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
            },
        },
        "examples": [
            {"body": {"total": "{{ steps.sum.total }}"}},
            {"status": 201, "headers": {"X-Order": "{{ inputs.order }}"}, "body": "created"},
            {"template": "<h1>Thanks, {{ inputs.name }}</h1>"},
            {"redirect": "https://example.com/thanks"},
            {"artifact": "{{ steps.save.artifact_id }}"},
        ],
        "x-mainspring-anti-examples": [
            {"value": {"status": 100}, "reason": "an interim status is not an answer"},
            {"value": {"cookies": {"a": "b"}}, "reason": "an answer sets no cookies"},
        ],
    },
    output_schema={
        "type": "object",
        "required": ["status", "headers"],
        "properties": {
            "status": {"type": "integer"},
            "headers": {"type": "object"},
            "content_type": {"type": "string"},
            "body": {},
            "text": {"type": "string"},
            "redirect": {"type": "string"},
            "artifact": {"type": "string", "format": "uuid"},
        },
    },
    handler=respond,
    check=_check,
    seconds=0.01,
    answers=True,
)
