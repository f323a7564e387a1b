"""Sending a draft that somebody has agreed to: at most once, whatever happens.

A draft goes from pending to sending in a transaction of its own, with who agreed and when;
only whoever made that step performs it. Then what came of it is written beside it, and that
is what every later answer says. If the process is lost in between, nobody knows whether the
write has left: the draft says so after a while and is never sent again by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import UUID

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import ClientWait
from mainspring.contracts.errors import (
    Conflict,
    DeadlineExceeded,
    Finding,
    LimitExceeded,
    PermissionDenied,
    PersonRequired,
    Problem,
    ReconnectRequired,
    in_workspace,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.registry import Vocabulary, WorkspaceVocabularies
from mainspring.definition.strict_json import dumps
from mainspring.gate.call_state import CallRecorder, CallState, resolve_granted_hosts
from mainspring.gate.capability_call import (
    ApprovedDraft,
    CapabilityCall,
    CapabilityResult,
    canonical_json,
    check_fence,
    digest,
    mask_result,
)
from mainspring.gate.draft_binding import (
    compute_binding_hash,
    draft_changed_error,
    restore_secret_markers,
)
from mainspring.gate.drafting.approvals import (
    check_approver,
    check_can_approve,
    check_can_edit,
    check_not_author,
    count_approvals,
    find_draft_authors,
    record_approval,
)
from mainspring.gate.drafting.attachments import Files, load_files, restore_files
from mainspring.gate.drafting.envelopes import envelope_of
from mainspring.gate.drafting.resume import (
    Resumer,
    lock_runs,
    run_ended_error,
    schedule_recheck,
    wake_run,
)
from mainspring.gate.drafting.revisions import (
    DraftEdit,
    DraftRevision,
    apply_edits,
    check_reviewed_revision,
    raise_edit_findings,
    store_revision,
)
from mainspring.gate.drafts import OUTCOME, STATUS, draft_not_pending_error, missing_draft_error
from mainspring.gate.policy import RunPolicy
from mainspring.gate.preapproval import LOOK_THERE, build_send_in_doubt_error
from mainspring.gate.standing.rules import learn, unlearn
from mainspring.store.audit import AuditRecord, append_audit, build_audit_record
from mainspring.store.database import WorkspaceDatabase
from mainspring.store.database_errors import log_and_convert_error
from mainspring.store.shield import run_to_completion
from mainspring.workspace.approval_policy import ApprovalPolicy, load_approval_policy
from mainspring.workspace.consents import may_agree
from mainspring.workspace.halts import check_not_halted
from mainspring.workspace.people.workspaces import name_if_several

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database


# The person who answers a draft that a program wants to have sent.

_FIRST_CONFIRMATION_POLL: Final = 0.1
_LONGEST_CONFIRMATION_POLL: Final = 1.0
_REPORT_SECONDS: Final = 5.0
_MOST_PREVIEW: Final = 300
_NEEDED: Final = "A person must confirm this draft; a program cannot."
_MOST_PREVIEWS: Final = 2_000
# While it is sent, its result is still to come.
_OPEN: Final = frozenset({"pending", "sending"})
_READ = f"""
    SELECT d.*, {STATUS} AS current_status, {OUTCOME} AS came_to FROM drafts d
    WHERE d.workspace_id = $1 AND d.id = $2
"""


def page_of(draft_id: UUID | str) -> str:
    """The path of the page where a person answers a draft."""
    return f"/inbox?draft={draft_id}"


def person_needed_error(row: Mapping[str, Any]) -> PersonRequired:
    """Tells a program that a person has to confirm this draft, and where."""
    preview = " ".join(str(row["preview"]).split())
    if len(preview) > _MOST_PREVIEW:
        preview = f"{preview[:_MOST_PREVIEW]}…"
    return PersonRequired(
        f"{_NEEDED} {preview}",
        url=page_of(row["id"]),
        command=f"mainspring drafts confirm {row['id']}",
    )


def persons_needed(problems: Sequence[PersonRequired]) -> PersonRequired:
    """The same for several drafts: one page shows all of them."""
    if len(problems) == 1:
        return problems[0]
    previews = " ".join(
        f"({number}) {one.detail.partition(_NEEDED)[2].strip()}"
        for number, one in enumerate(problems, 1)
    )
    where = problems[0].detail.partition(_NEEDED)[0]
    if len(previews) > _MOST_PREVIEWS:
        previews = f"{previews[:_MOST_PREVIEWS]}…"
    page = urlsplit(problems[0].url)
    query = urlencode([one for one in parse_qsl(page.query) if one[0] != "draft"])
    return PersonRequired(
        f"{where}A person must confirm {len(problems)} drafts; a program cannot. {previews}",
        url=urlunsplit(page._replace(query=query)),
        command="mainspring drafts",
    )


async def wait_for_answer(
    inside: WorkspaceDatabase, row: Mapping[str, Any], wait: ClientWait
) -> Mapping[str, Any]:
    """The draft once a person has answered it, the client gave up on that, or the time is up."""
    loop = asyncio.get_running_loop()
    began, pause = loop.time(), _FIRST_CONFIRMATION_POLL
    deadline, report_at = began + wait.seconds, began
    while True:
        async with inside.acquire() as connection:
            found = await connection.fetchrow(_READ, row["workspace_id"], row["id"])
        if found is None:
            raise missing_draft_error()
        now = loop.time()
        is_dismissed = wait.dismissed is not None and wait.dismissed()
        if found["current_status"] not in _OPEN or now >= deadline or is_dismissed:
            return dict(found)
        if wait.report is not None and now >= report_at:
            await wait.report(f"Waiting for a person for {now - began:.0f} s.")
            report_at = now + _REPORT_SECONDS
        await asyncio.sleep(min(pause, deadline - now))
        pause = min(pause * 1.5, _LONGEST_CONFIRMATION_POLL)


CONFIRM_ACTION: Final = "confirm_action"
CONFIRM_ACTIONS: Final = "confirm_actions"
EDIT_ACTION: Final = "edit_action"
# Those whose handlers are given the way to perform a draft.
ANSWERING: Final = frozenset({CONFIRM_ACTION, CONFIRM_ACTIONS, EDIT_ACTION})
# A handler has bounds of its own; this one is below the time after which a draft is in doubt.
_SECONDS: Final = 300.0
# Between two tries at one send, for which a person waits.
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
# Nobody was reached, or a mail server has said that it did not take the mail.
_REFUSED: Final = frozenset(
    {
        "mail_not_now",
        "mail_recipients_refused",
        "mail_refused",
        "mail_sign_in",
        "mail_sign_in_missing",
        "mail_tls",
        "mail_tls_missing",
        "name_not_found",
        "tls_failed",
        "unreachable",
    }
)
# Said here, before anybody is dialled.
_NOT_DIALLED: Final = frozenset(
    {
        "address_not_public",
        "bad_header",
        "bad_method",
        "bad_url",
        "host_not_approved",
        "mail_invalid",
        "request_too_large",
        "secret_needs_host",
        "secret_place",
    }
)
# Said before anything leaves: it cannot work here until somebody has set something up.
_NOT_SET_UP: Final = frozenset(
    {
        "mail_not_set_up",
        "not_connected",
        "owner_mail_missing",
        "secret_missing",
        "slack_not_connected",
        "telegram_not_linked",
    }
)
_NOT_LEFT: Final = _REFUSED | _NOT_DIALLED | _NOT_SET_UP
_DID_SOMETHING: Final = frozenset({"sent", "kept"})

_NAMED = "SELECT capability FROM drafts WHERE workspace_id = $1 AND id = $2"
# Held before it is read: how long it waits for that must not count as before its end.
_HOLD = "SELECT FROM drafts WHERE workspace_id = $1 AND id = $2 FOR UPDATE"
_TAKE = f"""
    SELECT d.*, {STATUS} AS current_status, {OUTCOME} AS came_to FROM drafts d
    WHERE d.workspace_id = $1 AND d.id = $2
"""
_UNDER = """
    SELECT v.automation_id, v.version, v.definition_hash, v.grants, a.created_by
    FROM automation_versions v
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
"""
_BEGIN = """
    UPDATE drafts SET status = 'sending', answered_kind = $3, answered_by = $4,
        answered_at = now(), call_id = $5, approved_hash = bound_hash, approvers = $6, error = NULL
    WHERE workspace_id = $1 AND id = $2
"""
_END = """
    UPDATE drafts SET status = $4, outcome = $5, result = $6::text::json, error = $7::text::json
    WHERE workspace_id = $1 AND id = $2 AND call_id = $3 AND status = 'sending'
    RETURNING id, workspace_id, automation_id, version, capability
"""
# Nothing has left, and another moment may be better: it waits on, and says why it could not leave.
_GIVE_BACK = """
    UPDATE drafts SET status = 'pending', answered_kind = NULL, answered_by = NULL,
        answered_at = NULL, call_id = NULL, approved_hash = NULL, error = $4::text::json
    WHERE workspace_id = $1 AND id = $2 AND call_id = $3 AND status = 'sending'
    RETURNING id
"""


@dataclass(frozen=True, slots=True)
class _DraftOutcome:
    """What came of a draft."""

    status: str
    outcome: str
    result: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _ClaimedDraft:
    """A draft that is this caller's to send."""

    row: Mapping[str, Any]
    made: CapabilityCall
    # What performs it.
    doing: Capability


@dataclass(frozen=True, slots=True)
class _ConfirmationRequired:
    """A draft that a program wants to have sent: a person has to confirm it."""

    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DraftSender:
    """Performs drafts; the pipeline lends it its last stage and the way to turn away."""

    vocabulary: WorkspaceVocabularies
    database: Database
    keeping: CallRecorder
    perform: Callable[[CapabilityCall, Capability], Awaitable[CapabilityResult]]
    turned_away: Callable[[CapabilityCall, Capability, Problem], CapabilityResult]
    judged: Callable[[CapabilityCall, Capability, Mapping[str, Any]], Sequence[Finding]]
    resumer: Resumer

    async def confirm(
        self,
        ask: CapabilityCall,
        draft_id: UUID,
        *,
        edits: Mapping[str, Any] | None = None,
        seen: str | None = None,
        sends: bool = True,
        noted: bool = False,
    ) -> Any:
        """Sends a draft, or answers what came of it before; ``ask`` is the confirming call."""
        try:
            return await self._confirm(ask, draft_id, DraftEdit(edits, seen, sends))
        except Exception as error:
            if noted:
                problem = error if isinstance(error, Problem) else log_and_convert_error(error)
                await self._note(ask, draft_id, problem)
                raise problem from error
            raise

    async def _note(self, ask: CapabilityCall, draft_id: UUID, problem: Problem) -> None:
        """Tells the audit log of a draft among several that was not sent."""
        entry = build_audit_record(ask.actor, "draft.refused", draft_id, {"code": problem.code})
        inside = WorkspaceDatabase(self.database, ask.actor.workspace_id)
        await inside.run_retrying(lambda tx: append_audit(tx, [entry]))

    async def _confirm(self, ask: CapabilityCall, draft_id: UUID, edit: DraftEdit) -> Any:
        call_id = generate_id()
        inside = WorkspaceDatabase(self.database, ask.actor.workspace_id)
        # Asked before the draft is held: nobody waits for locks meanwhile.
        words = await self._words(inside, ask.actor.workspace_id, draft_id)
        if _awaits_person(ask):
            # Called again to wait for the person: the first call has edited it already.
            edit = DraftEdit()
        taken = await inside.run_retrying(
            lambda tx: self._taken(tx, ask, draft_id, call_id, words, edit)
        )
        if isinstance(taken, _ConfirmationRequired):
            return await self._answered_by_person(inside, ask, taken.row)
        if not isinstance(taken, _ClaimedDraft):
            return taken
        ends: list[_DraftOutcome] = []

        async def work() -> None:
            ends.append(await self._sent(taken, draft_id))

        # Whoever asked may go away meanwhile; what was begun is brought to its end.
        await run_to_completion(work())
        answer = _describe_outcome(taken.row, ends[0])
        return Unchanged(answer) if ends[0].outcome == "not_sent" else answer

    async def _answered_by_person(
        self, inside: WorkspaceDatabase, ask: CapabilityCall, row: Mapping[str, Any]
    ) -> Unchanged:
        """What a person answered, or the page where they answer, in the workspace of the draft."""
        try:
            answer = await _answer_of_person(inside, ask, row)
        except PersonRequired as problem:
            problem.name_workspace(await name_if_several(self.database, ask.actor))
            raise
        if "url" in answer.value:
            named = await name_if_several(self.database, ask.actor)
            answer.value["url"] = in_workspace(answer.value["url"], named)
        return answer

    async def _words(
        self, inside: WorkspaceDatabase, workspace_id: UUID, draft_id: UUID
    ) -> Vocabulary:
        """What the draft's workspace can say, as far as that draft asks for it."""
        async with inside.acquire() as connection:
            row = await connection.fetchrow(_NAMED, workspace_id, draft_id)
        if row is None or row["capability"] in self.vocabulary.capabilities:
            return self.vocabulary
        return await self.vocabulary.of(workspace_id, needing=[row["capability"]])

    async def _taken(
        self,
        tx: Transaction,
        ask: CapabilityCall,
        draft_id: UUID,
        call_id: UUID,
        vocabulary: Vocabulary,
        edit: DraftEdit,
    ) -> _ClaimedDraft | _ConfirmationRequired | Unchanged | dict[str, Any]:
        """The call that is to be made now and by nobody else, or what came of it before."""
        await check_fence(tx, ask)
        under_way = await lock_runs(tx, ask.actor.workspace_id, [draft_id])
        await tx.execute(_HOLD, ask.actor.workspace_id, draft_id)
        found = await tx.fetchrow(_TAKE, ask.actor.workspace_id, draft_id)
        if found is None:
            raise missing_draft_error()
        row: Mapping[str, Any] = dict(found)
        under = await _version(tx, row)
        policy = await load_approval_policy(tx, ask.actor.workspace_id)
        authors = await find_draft_authors(tx, row)
        _check_decider(ask, row, edit, policy, authors)
        if row["current_status"] in ("confirmed", "failed") and edit.sends:
            return Unchanged(_describe_outcome(row, _read_outcome(row)))
        # Who finds it taken by this very call has only lost sight of their own commit.
        ours = row["current_status"] == "sending" and row["call_id"] == call_id
        if not ours and (row["current_status"] != "pending" or not under_way):
            return _resolve_answered_draft(ask, row)
        held = _find_capability(vocabulary, row["capability"])
        _check_intact(row, under, held, outside=held.id not in self.vocabulary.capabilities)
        files = await load_files(tx, ask.actor.workspace_id, draft_id)
        by_program = (
            edit.sends and ask.run is None and not may_agree(ask.actor, row["automation_id"])
        )
        if not ours:
            check_reviewed_revision(row, replace(edit, sends=edit.sends and not by_program))
            before, row = row, await self._edited(tx, ask, row, under, held, files, edit)
            if row is not before:
                authors = authors | {ask.actor.id}
        made, doing = _rebuild_call(vocabulary, ask, row, under, call_id, files)
        if by_program or not edit.sends:
            return _answer_unsent(row, by_program=by_program)
        if row["automation_id"] is not None and not ours:
            await check_not_halted(tx, ask.actor.workspace_id, row["automation_id"])
        needed = policy.approvers if ask.run is None else 1
        if not ours and ask.run is None:
            check_not_author(policy, ask.actor, authors)
            await record_approval(tx, ask.actor, row)
            so_far = await count_approvals(tx, row, policy, ask.actor, authors)
            await append_audit(tx, [_agreement(ask, row, so_far, needed)])
            if so_far < needed:
                return _describe_missing_approvals(row, so_far, needed)
        actor = ask.actor
        await tx.execute(
            _BEGIN, actor.workspace_id, draft_id, actor.kind, actor.id, call_id, needed
        )
        await schedule_recheck(tx, actor.workspace_id, draft_id, self.resumer)
        return _ClaimedDraft({**row, "approved_hash": row["bound_hash"]}, made, doing)

    async def _edited(
        self,
        tx: Transaction,
        ask: CapabilityCall,
        row: Mapping[str, Any],
        under: Any,
        held: Capability,
        files: Files,
        edit: DraftEdit,
    ) -> Mapping[str, Any]:
        """The draft in the words that somebody wants, judged like any other call."""
        if not edit.edits or held.write is None:
            return row
        told = envelope_of(held, row["arguments"])
        arguments, places = apply_edits(row["arguments"], row["secrets"], edit.edits, told)
        whole = restore_files(arguments, files, told.within)
        raise_edit_findings(self.judged(ask, held, whole), told.within)
        preview = held.write.preview(whole)
        bound = compute_binding_hash(
            held.id, arguments, places, preview, under, held.annotations.pin, row["connection"]
        )
        if bound == row["bound_hash"]:
            return row
        revision = DraftRevision(
            arguments, places, digest(canonical_json(arguments)), preview, bound
        )
        made = await store_revision(tx, ask.actor, row, revision)
        await unlearn(tx, row, "edited")
        detail = {"hash": bound.hex(), "revision": made["revision"], "fields": sorted(edit.edits)}
        await append_audit(tx, [build_audit_record(ask.actor, "draft.edited", row["id"], detail)])
        return made

    async def _perform_call(self, made: CapabilityCall, called: Capability) -> CapabilityResult:
        """The call itself; one that takes too long has begun, and nobody knows what came of it."""
        try:
            async with asyncio.timeout(_SECONDS):
                return await self.perform(made, called)
        except TimeoutError:
            late = DeadlineExceeded("The write exceeded its timeout.", code="draft_late")
            return replace(self.turned_away(made, called, late), begun=True)

    async def _perform_with_retries(self, claimed: _ClaimedDraft) -> CapabilityResult:
        """Performs a call, and again as its step allows, while nothing has left for certain."""
        made, called = claimed.made, claimed.doing
        answer = await self._perform_call(made, called)
        for attempt in range(claimed.row["send_retries"]):
            pause = _pause_after(answer, attempt)
            if pause is None or made.agreed is None:
                break
            await asyncio.sleep(pause)
            made = replace(made, agreed=replace(made.agreed, repeated=True))
            answer = await self._perform_call(made, called)
        return answer

    async def _sent(self, claimed: _ClaimedDraft, draft_id: UUID) -> _DraftOutcome:
        made, called = claimed.made, claimed.doing
        answer = await self._perform_with_retries(claimed)
        end, problem = _end_of(answer, called), answer.error
        again = problem is not None and _waits_on(problem, begun=answer.begun)
        inside = WorkspaceDatabase(self.database, made.actor.workspace_id)
        await inside.run_retrying(
            lambda tx: self._kept(tx, made, called, draft_id, answer, None if again else end)
        )
        if problem is not None and again:
            raise problem
        return end

    async def send_preapproved(
        self, made: CapabilityCall, called: Capability, draft_id: UUID
    ) -> CapabilityResult:
        """Sends a draft that a standing rule has agreed to; one that may have left is not retried.

        Its record is the one of the run's own call, which the run keeps itself.
        """
        answer = await self._perform_call(made, called)
        end, bare = _end_of(answer, called), replace(answer, record=None)
        if end.outcome == "unknown" and answer.error is not None:
            answer.error.retryable = False
            answer.error.suggestion = answer.error.suggestion or LOOK_THERE
        inside = WorkspaceDatabase(self.database, made.actor.workspace_id)
        await inside.run_retrying(lambda tx: self._kept(tx, made, called, draft_id, bare, end))
        return answer

    async def _kept(
        self,
        tx: Transaction,
        made: CapabilityCall,
        called: Capability,
        draft_id: UUID,
        answer: CapabilityResult,
        end: _DraftOutcome | None,
    ) -> None:
        """Writes what came of it, with the record of the call; both are there or neither is."""
        place = (made.actor.workspace_id, draft_id, made.id)
        await lock_runs(tx, made.actor.workspace_id, [draft_id])
        if end is None:
            why = None if answer.error is None else answer.error.as_dict()
            row = await tx.fetchrow(_GIVE_BACK, *place, dumps(why))
        else:
            result, error = dumps(end.result), dumps(end.error)
            row = await tx.fetchrow(_END, *place, end.status, end.outcome, result, error)
            if row is not None and end.outcome == "sent" and row["capability"] == called.id:
                await learn(tx, row, called)
            await wake_run(tx, made.actor.workspace_id, draft_id, self.resumer)
        if row is None or answer.record is None:
            return
        if made.run is None:
            kept = replace(answer.record, result=None if end is None else end.result)
            await self.keeping.write(tx, made, kept)
        else:
            # The run has the record of its call of confirm_action, and the draft tells the rest.
            await append_audit(tx, answer.record.audit)


def _awaits_person(ask: CapabilityCall) -> bool:
    """Whether the client of a program has opened the page where a person answers."""
    return ask.client_wait is not None and ask.client_wait.dismissed is not None


def _resolve_answered_draft(ask: CapabilityCall, row: Mapping[str, Any]) -> _ConfirmationRequired:
    """For a client that waits: a person may have answered before it began to."""
    if _awaits_person(ask) and row["current_status"] != "pending":
        return _ConfirmationRequired(row)
    raise (
        run_ended_error()
        if row["current_status"] == "pending"
        else draft_not_pending_error(row["current_status"])
    )


async def _answer_of_person(
    inside: WorkspaceDatabase, ask: CapabilityCall, row: Mapping[str, Any]
) -> Unchanged:
    """What a person answered, where the client of a program has opened the page for them."""
    wait = ask.client_wait
    if wait is None or wait.dismissed is None:
        raise person_needed_error(row)
    now = await wait_for_answer(inside, row, wait)
    if now["current_status"] in ("confirmed", "failed"):
        return Unchanged(_describe_outcome(now, _read_outcome(now)))
    if now["current_status"] == "discarded":
        return Unchanged(_describe_draft_status(now, "declined", "not_sent"))
    if now["current_status"] != "pending":
        raise draft_not_pending_error(now["current_status"])
    if wait.dismissed():
        raise person_needed_error(now)
    return Unchanged(
        {**_describe_draft_status(now, "pending", "not_sent"), "url": page_of(now["id"])}
    )


def _find_capability(vocabulary: Vocabulary, name: str) -> Capability:
    found = vocabulary.capabilities.get(name)
    if found is None:
        raise Conflict(
            f"{name} no longer exists, so this draft cannot be sent.",
            code="capability_gone",
            suggestion="Connect it again, or discard the draft.",
        )
    return found


def _rebuild_call(
    vocabulary: Vocabulary, ask: CapabilityCall, row: Any, under: Any, call_id: UUID, files: Files
) -> tuple[CapabilityCall, Capability]:
    """The call that was held, for whoever agrees to it now, and what performs it."""
    held = _find_capability(vocabulary, row["capability"])
    within = envelope_of(held, row["arguments"]).within
    whole = restore_files(restore_secret_markers(row["arguments"], row["secrets"]), files, within)
    made = CapabilityCall(
        held.id,
        whole,
        ask.actor,
        ask.run,
        ask.number,
        _build_policy(row, under),
        ask.budget,
        ask.fence,
        id=call_id,
        known=ask.known,
    )
    hosts = held.annotations.hosts
    if under is not None:
        hosts = resolve_granted_hosts(CallState(made, held, row["arguments"], b"", 0.0))
    doing = held
    if held.write is not None and held.write.performs is not None:
        name, arguments = held.write.performs(made.arguments)
        doing = _find_capability(vocabulary, name)
        made, hosts = replace(made, capability=name, arguments=arguments), doing.annotations.hosts
    if ask.run is not None and (doing.write is None or not doing.write.safe):
        raise _needs_a_person(f"{doing.id} is not on the list of safe writes")
    # One that is being sent already has lost what its earlier attempt left in ``error``.
    repeated = row["error"] is not None or row["current_status"] == "sending"
    agreed_to = ApprovedDraft(
        row["id"], hosts, row["bound_hash"].hex(), row["connection"], repeated
    )
    return replace(made, agreed=agreed_to), doing


async def _version(tx: Transaction, row: Any) -> Any:
    """The version that a draft was asked under; None for a person's own call."""
    if row["automation_id"] is None:
        return None
    return await tx.fetchrow(_UNDER, row["workspace_id"], row["automation_id"], row["version"])


def _check_intact(row: Any, under: Any, held: Capability, *, outside: bool) -> None:
    """Refuses a draft that is not what it was when it was shown."""
    arguments, places, pin = row["arguments"], row["secrets"], held.annotations.pin
    bound = compute_binding_hash(
        row["capability"], arguments, places, row["preview"], under, pin, row["connection"]
    )
    if bound != row["bound_hash"] or digest(canonical_json(arguments)) != row["arguments_hash"]:
        raise draft_changed_error(outside=outside)


def _build_policy(row: Any, under: Any) -> RunPolicy:
    """What the call may do, and whose secrets it may use."""
    if under is None:
        return RunPolicy((), owner_id=row["actor_id"])
    grants = tuple(Grant(entry["capability"], entry["params"]) for entry in under["grants"])
    return RunPolicy(grants, owner_id=under["created_by"])


def _check_decider(
    ask: CapabilityCall,
    row: Any,
    edit: DraftEdit,
    policy: ApprovalPolicy,
    authors: Collection[UUID],
) -> None:
    """Refuses whoever may not do to this draft what they ask for."""
    if ask.run is not None:
        _check_run(ask, row, edit)
        return
    if edit.sends:
        check_can_approve(policy, ask.actor, row, authors)
    elif row["run_id"] is not None:
        check_approver(policy, ask.actor)
    if edit.edits:
        check_can_edit(ask.actor, row)


def _check_run(ask: CapabilityCall, row: Any, edit: DraftEdit) -> None:
    """A run agrees to its own drafts under one policy, and in the words that they have."""
    if ask.posture.write_policy != "auto_confirm_safe":
        raise _needs_a_person("this automation's write policy is always_draft")
    if ask.run is None or row["run_id"] != ask.run.id:
        raise _needs_a_person("it is not a draft of this run")
    if edit.edits:
        raise _needs_a_person("a run cannot edit its own request")


def _agreement(ask: CapabilityCall, row: Any, so_far: int, needed: int) -> AuditRecord:
    """What the audit log is told of somebody who agrees, and to what exactly."""
    detail = {
        "hash": row["bound_hash"].hex(),
        "revision": row["revision"],
        "approvals": so_far,
        "needed": needed,
    }
    return build_audit_record(ask.actor, "draft.approved", row["id"], detail)


def _needs_a_person(reason: str) -> PermissionDenied:
    return PermissionDenied(
        f"A person must confirm this draft: {reason}.",
        code="needs_a_person",
        suggestion="Leave it in the inbox; a member confirms or discards it there.",
    )


def _waits_on(problem: Problem, *, begun: bool) -> bool:
    """Whether nothing has left for certain, and it may be sent another time."""
    if problem.code in _NOT_SET_UP and problem.unsent is not False:
        return True
    if problem.code == "draft_changed" and not begun:
        # It would leave over another account than the one that was shown.
        return True
    if isinstance(problem, ReconnectRequired) and problem.unsent is not False:
        # Its connection is not let in: once somebody has connected it again, it can leave.
        return True
    return not begun and (isinstance(problem, LimitExceeded) or problem.retryable)


def _pause_after(answer: CapabilityResult, attempt: int) -> float | None:
    """Seconds until a failed send is repeated; None where it is not."""
    problem = answer.error
    if problem is None or not problem.retryable or (answer.begun and _in_doubt(problem)):
        return None
    pause = max(_FIRST_PAUSE * 2**attempt, problem.retry_after or 0.0)
    return pause if pause <= _LONGEST_PAUSE else None


def _end_of(answer: CapabilityResult, called: Capability) -> _DraftOutcome:
    problem = answer.error
    if problem is None:
        outcome = "sent" if answer.outcome in _DID_SOMETHING else "not_sent"
        return _DraftOutcome("confirmed", outcome, mask_result(answer.value, called))
    outcome = "unknown" if answer.begun and _in_doubt(problem) else "not_sent"
    return _DraftOutcome("failed", outcome, None, problem.as_dict())


def _in_doubt(problem: Problem) -> bool:
    """Whether the write may have happened all the same: unless it is proven that it has not.

    Whoever performs it knows best; what nobody has judged counts as proven only by its code.
    """
    if problem.unsent is not None:
        return not problem.unsent
    return problem.code not in _NOT_LEFT


def _read_outcome(row: Any) -> _DraftOutcome:
    return _DraftOutcome(row["current_status"], row["came_to"], row["result"], row["error"])


def _answer_unsent(row: Any, *, by_program: bool) -> _ConfirmationRequired | dict[str, Any]:
    """What is answered where nothing is sent: a person is needed, or it was only edited."""
    return _ConfirmationRequired(row) if by_program else _describe_revision(row)


def _describe_revision(row: Any) -> dict[str, Any]:
    """A draft in its words of now, for whoever gave it those."""
    return {
        "draft_id": str(row["id"]),
        "status": "pending",
        "action": row["action"] or row["capability"],
        "preview": row["preview"],
        "payload": row["arguments"],
        "expires_at": row["expires_at"].isoformat(),
        "revision": row["revision"],
        "hash": row["bound_hash"].hex(),
    }


def _describe_missing_approvals(row: Any, so_far: int, needed: int) -> dict[str, Any]:
    """A draft that somebody has agreed to, while others have yet to."""
    result = _describe_draft_status(row, "approved", "not_sent")
    return {**result, "hash": row["bound_hash"].hex(), "approvals": so_far, "needed": needed}


def _describe_draft_status(row: Any, status: str, outcome: str) -> dict[str, Any]:
    told = {
        "draft_id": str(row["id"]),
        "status": status,
        "outcome": outcome,
        "action": row["action"] or row["capability"],
    }
    return told if row["source"] is None else {**told, "source": row["source"]}


def confirming_came_to(value: Any) -> str:
    """The word in the record of a call that answered drafts: whether anything left, or may have."""
    ends = value.get("results", [value])
    left = any(one.get("outcome") in ("sent", "unknown") for one in ends)
    return "confirmed" if left else "kept"


def _describe_outcome(row: Any, end: _DraftOutcome) -> dict[str, Any]:
    """What came of a draft, the same however often it is asked."""
    error = end.error
    if error is None and end.outcome == "unknown":
        error = build_send_in_doubt_error().as_dict()
    result = _describe_draft_status(row, end.status, end.outcome)
    if row["approved_hash"] is not None:
        result["hash"] = row["approved_hash"].hex()
    if end.status == "confirmed":
        return {**result, "result": end.result}
    return {**result, "error": error}
