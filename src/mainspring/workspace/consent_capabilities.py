"""Consent capabilities: what waits for a person, and their answer.

Everybody with read access sees pending consents. Answering is for a person with edit permission,
and never for a run or a program: a program that could answer for its owner could approve itself.
The one exception is a token with the approve permission that a person created: it names the
automations, it expires, and its answers are marked in the audit log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.errors import Finding, Invalid, NotFound, PersonRequired, Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.registry import Vocabulary
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.workspace import consent_schemas as schemas
from mainspring.workspace.automation_states import activate
from mainspring.workspace.automations import lock_automation, read_grants
from mainspring.workspace.consent_rows import (
    REPEAT,
    AutomationConsent,
    find_consent,
    hold_accounts,
    is_from_words,
    list_agreed_by_upgrade,
    list_consents,
    matches_unsaved_proposal,
)
from mainspring.workspace.consents import (
    answer_consent,
    build_consent_changed_error,
    format_consent,
    get_consent_channel,
    may_agree,
)
from mainspring.workspace.repeat_consents import keep_repeat_answer, load_repeat_consent

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

LoadVocabulary = Callable[[UUID, Any], Awaitable[Vocabulary]]
# What a definition needs and would not find: workspace, document, grants, automation.
FindMissingParts = Callable[
    [UUID, Mapping[str, Any], Sequence[Grant], UUID], Awaitable[tuple[Finding, ...]]
]
_ANSWERS: Final = Annotations(
    toolset=Toolset.APPROVALS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.EDIT,
    subject=lambda given, _: given.get("consent_id"),
)
_READS: Final = Annotations(
    toolset=Toolset.APPROVALS,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.READ,
)


class ToolConsents(Protocol):
    """Changed tools of connections, which are asked about in the same way."""

    async def waiting(self, ctx: CallContext) -> list[dict[str, Any]]:
        """One for each connection that has changed tools."""
        ...

    async def answer(
        self, ctx: CallContext, connection_id: UUID, digest: str, *, agree: bool
    ) -> dict[str, Any]:
        """Agrees to all changed tools of a connection, or refuses them."""
        ...


def consent_capabilities(
    limits: Limits,
    vocabulary: LoadVocabulary,
    tools: ToolConsents,
    missing: FindMissingParts,
    address: str = "",
) -> tuple[Capability, ...]:
    """All of them; ``words`` judges what is activated together with the answer.

    ``address`` is the server's own.
    """
    counter = _ConsentHandlers(limits, vocabulary, tools, missing, address)
    return (
        build_capability(
            "list_consents",
            "List automations that wait for consent",
            "An automation created or changed by a program, file or recipe is paused until a "
            "person agrees to its additional permissions. Changed external tools are listed too. "
            "Automations that were active before consent was recorded are listed for review and "
            "keep running.",
            schemas.LIST,
            schemas.LISTED,
            counter.list_all,
            _READS,
        ),
        build_capability(
            "get_consent",
            "Get what an automation asks consent for",
            "Returns one sentence per addition with its place in the definition, and the digest "
            "that answer_consent needs.",
            schemas.GET,
            schemas.SHOWN,
            counter.show,
            _READS,
        ),
        build_capability(
            "answer_consent",
            "Agree to or refuse what an automation may do",
            "Only for a person, or a token with the permission approve for this automation. Give "
            "the digest that was read: if the request changed since, nothing is accepted. With "
            "activate, the automation also starts on its triggers; if it cannot be activated, "
            "nothing is recorded. A refused automation stays paused.",
            schemas.ANSWER,
            schemas.ANSWERED,
            counter.answer,
            _ANSWERS,
        ),
    )


@dataclass(frozen=True, slots=True)
class _ConsentHandlers:
    """The handlers."""

    limits: Limits
    words: LoadVocabulary
    tools: ToolConsents
    missing: FindMissingParts
    address: str

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        status, about = arguments.get("status", "waiting"), arguments.get("automation_id")
        kept = await list_consents(
            ctx.tx,
            ctx.actor.workspace_id,
            None if status == "any" else status,
            None if about is None else UUID(about),
            arguments.get("limit", schemas.USUAL),
        )
        current = [await _as_of_now(ctx, one) for one in kept]
        found = [format_consent(one) for one in current if one is not None]
        if about is None and status in ("waiting", "any"):
            found += await self.tools.waiting(ctx)
        upgraded = await list_agreed_by_upgrade(
            ctx.tx,
            ctx.actor.workspace_id,
            None if about is None else UUID(about),
            arguments.get("limit", schemas.USUAL),
        )
        return {"consents": found, "agreed_by_upgrade": upgraded}

    async def show(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        wanted = UUID(arguments["consent_id"])
        try:
            return format_consent(await _find(ctx, wanted))
        except NotFound:
            found = await self._of_tools(ctx, wanted)
            if found is None:
                raise
            return found

    async def answer(self, ctx: CallContext, given: Mapping[str, Any]) -> Any:
        _check_may_answer(ctx, UUID(given["consent_id"]), self.address)
        agree, wanted = given["agree"], UUID(given["consent_id"])
        starts = given.get("activate", False)
        if starts and not agree:
            detail = "A refused automation cannot be activated."
            raise Invalid(
                detail,
                code="refused_and_activated",
                findings=[Finding("/activate", detail, "refused_and_activated")],
            )
        space = ctx.actor.workspace_id
        if await self._of_tools(ctx, wanted) is not None:
            _check_person(ctx, wanted, self.address)
            shown = await self.tools.answer(ctx, wanted, given["digest"], agree=agree)
            return {"consent": shown, "state": None, "says": _TOOLS_SAY[agree]}
        found = await _find(ctx, wanted)
        await _check_named(ctx, found, self.address)
        if found.asked_kind == REPEAT:
            return await _answer_repeat(ctx, found, given["digest"], agree=agree, starts=starts)
        found, news = await answer_consent(
            ctx.tx,
            space,
            wanted,
            given["digest"],
            ctx.actor.id,
            agree=agree,
            via=get_consent_channel(ctx.actor),
        )
        row = await lock_automation(ctx.tx, space, found.automation_id)
        state = row["state"]
        if starts and state != "active":
            words = await self.words(space, row["document"])
            grants = read_grants(row["grants"])
            missing = await self.missing(space, row["document"], grants, found.automation_id)
            try:
                state = await activate(
                    ctx.tx, space, found.automation_id, words, self.limits, missing
                )
            except Problem as reason:
                if not news:
                    raise
                raise _not_activated_error(reason) from reason
            news = True
        told = {
            "consent": format_consent(found),
            "state": state,
            "says": _describe_answer(found, state),
        }
        return told if news else Unchanged(told)

    async def _of_tools(self, ctx: CallContext, wanted: UUID) -> dict[str, Any] | None:
        waiting = await self.tools.waiting(ctx)
        return next((one for one in waiting if one["consent_id"] == str(wanted)), None)


def _check_may_answer(ctx: CallContext, consent_id: UUID, address: str) -> None:
    """Refuses whatever could answer no consent at all, before anything is looked up for it."""
    if ctx.run is not None or not (ctx.actor.is_person or ctx.actor.approves):
        raise _person_required_error(
            "A person must consent to what an automation may do; a program cannot.",
            consent_id,
            address,
        )


def _check_person(ctx: CallContext, consent_id: UUID, address: str) -> None:
    if not ctx.actor.is_person:
        raise _person_required_error(
            "A person must approve the tools of a connection; a token cannot.", consent_id, address
        )


async def _find(ctx: CallContext, consent_id: UUID) -> AutomationConsent:
    """A question about an automation, or about repeating a run of an older version."""
    space = ctx.actor.workspace_id
    repeat = await load_repeat_consent(ctx.tx, space, consent_id)
    return repeat or await find_consent(ctx.tx, space, consent_id)


async def _as_of_now(ctx: CallContext, one: AutomationConsent) -> AutomationConsent | None:
    """A question in a list; None where a run that was to be repeated needs no answer any more."""
    if one.asked_kind != REPEAT or one.status != "waiting":
        return one
    return await load_repeat_consent(ctx.tx, ctx.actor.workspace_id, one.id)


async def _answer_repeat(
    ctx: CallContext, found: AutomationConsent, digest: str, *, agree: bool, starts: bool
) -> Any:
    """Keeps a person's answer to whether a run of an older version may be repeated."""
    if starts:
        detail = "This concerns a run of an older version, which cannot be activated."
        raise Invalid(
            detail,
            code="repeat_and_activated",
            findings=[Finding("/activate", detail, "repeat_and_activated")],
        )
    space = ctx.actor.workspace_id
    row = await lock_automation(ctx.tx, space, found.automation_id)
    await hold_accounts(ctx.tx, space)
    # Somebody else may have answered meanwhile, or replaced an account that the question names.
    found = await _find(ctx, found.id)
    news = found.status != ("agreed" if agree else "refused")
    if news:
        if found.digest.hex() != digest:
            raise build_consent_changed_error(found)
        await keep_repeat_answer(ctx.tx, space, found, ctx.actor.id, agree=agree)
        found = await _find(ctx, found.id)
    told = {
        "consent": format_consent(found),
        "state": row["state"],
        "says": "Approved. The run may be repeated until another version is approved."
        if agree
        else "Refused. No program can repeat this run.",
    }
    return told if news else Unchanged(told)


async def _check_named(ctx: CallContext, found: AutomationConsent, address: str) -> None:
    """What a token with the permission ``approve`` may answer; a person may answer anything."""
    if ctx.actor.is_person:
        return
    consent_id = found.id
    if not may_agree(ctx.actor, found.automation_id):
        raise _person_required_error(
            "This token can approve other automations, but not this one.", consent_id, address
        )
    space, version = ctx.actor.workspace_id, found.version
    written = await matches_unsaved_proposal(ctx.tx, space, found.automation_id, version)
    if written or is_from_words(found.additions):
        raise _person_required_error(
            "This version contains the steps of a proposal that was written from a request in "
            "words. Only a person can approve those.",
            consent_id,
            address,
        )


def _person_required_error(detail: str, consent_id: UUID, address: str) -> PersonRequired:
    return PersonRequired(
        detail,
        url=f"{address.rstrip('/')}/inbox?item={consent_id}",
        command=f"mainspring consents agree {consent_id}",
    )


def _not_activated_error(reason: Problem) -> Problem:
    """Both were asked for and one cannot be: the answer is not kept, and that is said."""
    return type(reason)(
        f"It cannot be activated, so your answer was not recorded either. {reason.detail}",
        code=reason.code,
        findings=reason.findings,
        suggestion=reason.suggestion,
    )


def _describe_answer(found: AutomationConsent, state: str) -> str:
    if found.status == "agreed":
        return (
            "Approved and active: its triggers start it."
            if state == "active"
            else "Approved. Its triggers start it once it is activated."
        )
    if found.agreed_version is None:
        return "Refused: it stays paused. Archive it if you do not need it."
    return (
        f"Refused: it stays paused. Version {found.agreed_version} is the last approved version: "
        "restore it to continue with that one."
    )


_TOOLS_SAY: Final[Mapping[bool, str]] = {
    True: "Approved as they are now; they can be called again.",
    False: "Refused: they cannot be called. Automations that use them fail there.",
}
