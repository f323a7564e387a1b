"""Hosted forms: what the page at a form's link shows, and its submissions.

The routes are public. A form for members also needs the session of a browser whose person is a
member of the form's workspace. Answers contain the texts and fields of the form and nothing else
of the workspace.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    PermissionDenied,
    Unauthenticated,
)
from mainspring.contracts.ids import generate_id
from mainspring.definition.webhook_callers import BY_STEP, read_answer_policy
from mainspring.runs.answers import RunResult
from mainspring.runs.rows import FINAL
from mainspring.surfaces.rest.answers import wait_for_result
from mainspring.surfaces.rest.auth import BrowserSessionPolicy, person_of
from mainspring.surfaces.rest.form_submissions import FormSubmissionReader, Submission
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import JsonAnswer, takes
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.routes.session import caller_address
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.form_receiver import FormReceiver, OpenForm, check_honeypot
from mainspring.triggers.webhook_auth import WebhookRequest
from mainspring.triggers.webhook_receiver import WebhookReceipt
from mainspring.workspace.forms import FormMember

_AT: Final = "/forms/{token}"

Link = Annotated[str, Path(description="The last part of the form's link.", max_length=200)]
Proof = Annotated[
    str,
    Header(
        alias="Form-Token", description="The token of the form as it was shown.", max_length=200
    ),
]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FormPageShape(_Shape):
    """Fields that are shown together."""

    title: str | None
    text: str | None
    fields: list[str]


class FileFieldShape(_Shape):
    """What a file field accepts."""

    max_bytes: int
    types: list[str]


class FormShape(_Shape):
    """A form as people see it."""

    access: Literal["public", "members"]
    title: str
    text: str
    submit: str | None = Field(description="The label of the button; null: the usual one.")
    pages: list[FormPageShape]
    fields: dict[str, Any] = Field(description="The fields as a JSON Schema.", alias="schema")
    files: dict[str, FileFieldShape] = Field(description="The fields that take a file.")
    open: bool = Field(description="false: submissions are refused at the moment.")
    token: str = Field(description="Sent back in the header Form-Token with one submission.")
    csrf: str | None = Field(
        description="For a form for members: sent back in the header X-CSRF-Token."
    )


class FormAnswer(_Shape):
    """The answer of a run to the person who sent the form."""

    text: str | None = Field(None, description="Shown as text.")
    content_type: str | None = Field(None, description="Of the text; HTML is shown sandboxed.")
    body: Any = Field(None, description="Shown as values.")


class FormReceipt(_Shape):
    """A submission that was accepted."""

    status: Literal["received", "answered"] = Field(
        description="received: its run was started. answered: the run has answered."
    )
    repeated: bool = Field(description="The same submission was accepted before.")
    thank_you: str | None
    redirect: str | None
    answer: FormAnswer | None


def routes(services: ApplicationServices) -> APIRouter:
    made = router("forms")
    browsers = BrowserSessionPolicy(services.settings.address)

    @made.get(
        _AT,
        summary="Read a form",
        response_model=FormShape,
        responses=problems(401, 403, 404, 429),
    )
    @public
    async def read_form(token: Link, request: Request) -> JsonAnswer:
        receiver = services.form_receiver
        form = await receiver.find(token, _address(services, request))
        _, csrf = await _find_member(services, receiver, browsers, request, form)
        return JsonAnswer(
            {**_describe_form(form), "token": await receiver.make_token(form), "csrf": csrf},
            headers={"Cache-Control": "no-store"},
        )

    @made.post(
        _AT,
        summary="Send a form",
        description="One form as it was shown can be sent once: the same again is answered like "
        "the first time, and other values with 409.",
        response_model=FormReceipt,
        responses=problems(401, 403, 404, 409, 410, 413, 415, 422, 429),
        openapi_extra=takes(Submission),
    )
    @public
    async def send_form(token: Link, request: Request, form_token: Proof = "") -> JsonAnswer:
        receiver, uploads = services.form_receiver, services.uploads
        address = _address(services, request)
        form = await receiver.find(token, address)
        member, csrf = await _find_member(services, receiver, browsers, request, form)
        if csrf is not None:
            browsers.check_change(request.headers, browsers.shown(request.headers) or "")
        nonce = await receiver.check_token(form, form_token)
        given = await FormSubmissionReader(uploads, services.limits).read(
            request, form, generate_id()
        )
        check_honeypot(given.website)
        receiver.validate(form, given.values)
        await receiver.charge(form, address)
        incoming = receiver.build_request(
            form, token, nonce, given.values, given.upload.run_id, member
        )
        # The rows of the files are there before a step of the run can read them.
        await uploads.keep(given.upload)
        started = False
        try:
            answer = await _dispatch(services, request, form, incoming)
            started = not answer["repeated"]
        finally:
            if not started:
                await uploads.discard(given.upload.artifacts)
        return JsonAnswer(answer)

    return made


def _address(services: ApplicationServices, request: Request) -> str:
    return caller_address(request, services.settings.proxies or 0)


async def _find_member(
    services: ApplicationServices,
    receiver: FormReceiver,
    browsers: BrowserSessionPolicy,
    request: Request,
    form: OpenForm,
) -> tuple[FormMember | None, str | None]:
    """The member who asks for a form for members, and the CSRF token of the session."""
    if form.settings.is_public:
        return None, None
    plain = browsers.shown(request.headers)
    if plain is None:
        raise Unauthenticated(
            "This form is for members of a workspace.",
            code="form_for_members",
            suggestion="Sign in, then open the link again.",
        )
    caller = await person_of(services.database, plain)
    member = await receiver.find_member(form, caller.member_id)
    if member is None:
        raise PermissionDenied(
            "This form is for members of another workspace.",
            code="form_for_members",
            suggestion="Ask the person who sent you the link to invite you.",
        )
    return member, caller.csrf


def _describe_form(form: OpenForm) -> dict[str, Any]:
    settings = form.settings
    return {
        "access": settings.access,
        "title": settings.title,
        "text": settings.text,
        "submit": settings.submit,
        "pages": [
            {"title": page.title, "text": page.text, "fields": list(page.fields)}
            for page in settings.pages
        ],
        "schema": settings.schema,
        "files": {
            name: {"max_bytes": rule.max_bytes, "types": list(rule.types)}
            for name, rule in settings.files.items()
        },
        "open": form.trigger.open,
    }


async def _dispatch(
    services: ApplicationServices, request: Request, form: OpenForm, incoming: WebhookRequest
) -> dict[str, Any]:
    """Record the submission, and wait for the answer of its run where the form says so."""
    policy = read_answer_policy(form.trigger.config)
    workspace_id, settings = form.trigger.workspace_id, form.settings
    waiter, by_step = services.run_waiter, policy.mode == BY_STEP
    shown = {
        "status": "received",
        "thank_you": settings.thank_you,
        "redirect": settings.redirect,
        "answer": None,
    }
    if not policy.waits or waiter.is_full:
        receipt = await _take(services, incoming)
        return {**shown, "repeated": receipt.repeated}
    # Expected before it is recorded: a fast run may end before the receipt is here.
    with waiter.expect(workspace_id, incoming.run_id, policy.seconds, by_step=by_step) as expected:
        receipt = await _take(services, incoming)
        if receipt.run_id == incoming.run_id:
            result = await wait_for_result(request, expected, policy.seconds)
        else:
            with waiter.expect(
                workspace_id, receipt.run_id, policy.seconds, by_step=by_step, exists=True
            ) as earlier:
                result = await wait_for_result(request, earlier, policy.seconds)
    return {**shown, **_describe_result(result, by_step), "repeated": receipt.repeated}


async def _take(services: ApplicationServices, incoming: WebhookRequest) -> WebhookReceipt:
    """Record a submission; one that started no run is a problem for the person who sent it."""
    try:
        receipt = await services.webhook_receiver.take(incoming)
    except Unauthenticated:
        raise Conflict(
            "The link of this form was changed while you filled it in.",
            code="form_closed",
            suggestion="Ask the person who sent you the link for the current one.",
        ) from None
    except Invalid as problem:
        if problem.code != "idempotency_mismatch":
            raise
        raise Conflict(
            "This form was already sent, with other values.",
            code="form_sent",
            suggestion="Load the page again to send another one.",
        ) from None
    if isinstance(receipt.problem, Invalid):
        raise receipt.problem
    if receipt.problem is not None or (receipt.status in FINAL and not receipt.repeated):
        raise Conflict(
            "This form does not accept submissions at the moment.",
            code="form_closed",
            suggestion="Try again later, or ask the person who sent you the link.",
        )
    return receipt


def _describe_result(result: RunResult | None, by_step: bool) -> dict[str, Any]:
    """What people see of a run; nothing of one that is still going on, or that failed."""
    if result is None:
        return {}
    found = result.answer
    if found is not None:
        target = str(found.get("redirect", ""))
        if target.startswith("https://"):
            return {"status": "answered", "redirect": target}
        answer = {name: found.get(name) for name in ("text", "content_type", "body")}
        return {"status": "answered", "redirect": None, "answer": answer}
    if result.status == "succeeded" and not by_step:
        return {
            "status": "answered",
            "redirect": None,
            "answer": {"text": None, "content_type": None, "body": result.output},
        }
    return {}
