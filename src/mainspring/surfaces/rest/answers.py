"""HTTP answers from runs: for callers of webhooks, and for ``Prefer: wait``.

An answer of a webhook is content that people and programs supply, served from the origin of the
page. It is therefore always sandboxed: a page in it runs no scripts and cannot use the session of a
member who opens it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from mainspring.actions.respond import is_reserved_header
from mainspring.contracts.errors import DeadlineExceeded, InternalError, NotFound, Problem
from mainspring.runs.answers import Expectation, RunResult
from mainspring.store.database import WorkspaceDatabase
from mainspring.surfaces.rest.problems import MEDIA_TYPE, mask_path
from mainspring.surfaces.rest.request_bodies import as_json
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.artifacts.rows import read_artifact, read_content

if TYPE_CHECKING:
    from starlette.types import Scope

RUN_HEADER: Final = "Mainspring-Run-Id"
_SANDBOX: Final = (
    "sandbox allow-forms allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline' https:; img-src https: data:; font-src https: data:; "
    "media-src https: data:; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _SANDBOX,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=$|[,;\s])", re.IGNORECASE)
MOST_PREFERRED_SECONDS: Final = 300


def read_preferred_wait(request: Request) -> int | None:
    """The seconds of ``Prefer: wait=N`` (RFC 7240), limited; None without that preference."""
    for shown in request.headers.getlist("prefer"):
        found = _WAIT.search(shown)
        if found is not None:
            return min(int(found[1]), MOST_PREFERRED_SECONDS)
    return None


async def wait_for_result(
    request: Request, expected: Expectation, seconds: float
) -> RunResult | None:
    """The result of a run; None after the time, when the server stops or the caller is gone."""
    if expected.settled.done():
        return expected.settled.result()
    closing = asyncio.ensure_future(request.app.state.closing.wait())
    gone = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait(
            (expected.settled, closing, gone),
            timeout=seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        closing.cancel()
        gone.cancel()
        await asyncio.gather(closing, gone, return_exceptions=True)
    return expected.settled.result() if expected.settled.done() else None


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def disposition(name: str) -> str:
    """The Content-Disposition of a file: ASCII for old clients, exact for others (RFC 6266)."""
    plain = "".join(sign if sign.isascii() and sign.isprintable() else "_" for sign in name)
    for sign in '"\\%/':
        plain = plain.replace(sign, "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


class AnswerBuilder:
    """Builds the answers to callers of webhooks."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services

    async def build(
        self,
        workspace_id: UUID,
        automation_id: UUID,
        run_id: UUID,
        result: RunResult,
        url: str,
        scope: Scope,
        *,
        by_step: bool,
    ) -> Response:
        """The answer of a run that has ended, or of its step."""
        if result.answer is not None:
            try:
                return await self._build_from_step(
                    workspace_id, automation_id, run_id, result.answer
                )
            except Problem as problem:
                return _fail(problem, run_id, url, scope)
        if result.status == "succeeded":
            # A webhook that answers by a step shows nothing else of the run.
            receipt = {"run_id": run_id, "status": result.status, "url": url}
            shown = receipt if by_step else result.output
            return _send(as_json(shown), 200, {}, "application/json", run_id)
        return _fail(_describe_failure(result), run_id, url, scope)

    async def _build_from_step(
        self, workspace_id: UUID, automation_id: UUID, run_id: UUID, answer: Mapping[str, Any]
    ) -> Response:
        status = int(answer["status"])
        headers = {
            name: str(value)
            for name, value in answer.get("headers", {}).items()
            if not is_reserved_header(name)
        }
        if "redirect" in answer:
            return _send(b"", status, {**headers, "Location": answer["redirect"]}, None, run_id)
        if "artifact" in answer:
            name, media_type, content = await self._read_file(
                workspace_id, automation_id, UUID(answer["artifact"])
            )
            shown = {"Content-Disposition": disposition(name)}
            shown |= {key.title(): value for key, value in headers.items()}
            return _send(content, status, shown, media_type, run_id)
        if "text" in answer:
            content = answer["text"].encode("utf-8", "replace")
            return _send(content, status, headers, answer["content_type"], run_id)
        if "body" in answer:
            return _send(as_json(answer["body"]), status, headers, "application/json", run_id)
        return _send(b"", status, headers, None, run_id)

    async def _read_file(
        self, workspace_id: UUID, automation_id: UUID, artifact_id: UUID
    ) -> tuple[str, str, bytes]:
        """A file of the same automation that may leave the workspace."""
        inside = WorkspaceDatabase(self._services.database, workspace_id)
        async with inside.acquire() as connection:
            found = await read_artifact(connection, workspace_id, artifact_id)
        if found.automation_id != automation_id or found.visibility == "private":
            raise NotFound("There is no such file.", code="no_artifact")
        return found.name, found.media_type, await read_content(self._services.blobs, found)


def _send(
    content: bytes, status: int, headers: Mapping[str, str], media_type: str | None, run_id: UUID
) -> Response:
    shown = {**HEADERS, **headers, RUN_HEADER: str(run_id)}
    if media_type is not None:
        # Set as a header: a charset is not added to what the step says.
        shown["Content-Type"] = media_type
    return Response(content, status, shown)


def _describe_failure(result: RunResult) -> Problem:
    """Why there is no answer, without what happened inside of the run."""
    suggestion = "Read the run for its cause; only members of the workspace can."
    match result.status:
        case "timed_out":
            return DeadlineExceeded(
                "The run timed out.", code="run_timed_out", suggestion=suggestion, retryable=False
            )
        case "cancelled":
            return InternalError("The run was cancelled.", code="run_cancelled")
        case "skipped":
            return InternalError("The run was skipped.", code="run_skipped", suggestion=suggestion)
    return InternalError("The run failed.", code="run_failed", suggestion=suggestion)


def _fail(problem: Problem, run_id: UUID, url: str, scope: Scope) -> Response:
    status = problem.status if problem.status >= 500 else InternalError.status
    if problem.status < 500:
        problem = InternalError("The answer of the run cannot be sent.", code="answer_failed")
    shown = {
        **problem.as_dict(),
        "status": status,
        "instance": mask_path(scope["path"]),
        "run_id": run_id,
        "url": url,
    }
    headers = {"Location": url, RUN_HEADER: str(run_id)}
    return Response(as_json(shown), status, headers, MEDIA_TYPE)
