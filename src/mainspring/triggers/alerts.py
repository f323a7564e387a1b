"""Failure alerts: an alert in the inbox, a mail, and a pause after repeated failures.

``FailureAlerts`` reads the event log after the runs, so no run waits for it. Each failed run is
reported; failures of one automation in close succession are grouped in one alert, so that a
schedule that fails every minute does not fill a mailbox. When enough triggered runs have failed in
a row, the automation is paused. A manually started run only alerts in the inbox and never counts:
the person who started it sees the result.

``AlertMailer`` mails an alert to the automation's owner, and retries when the mail server refuses
it. Alerts without a reachable recipient stay in the inbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import Mail, Mailer
from mainspring.contracts.errors import Problem, describe_for_log
from mainspring.contracts.event import Event
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.polls import POLL_TYPES
from mainspring.runs.rows import EVENTS, FAILED
from mainspring.runs.story import list_next_actions
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace.alerts import (
    MOST_COUNTED,
    Alert,
    AlertMail,
    append_failure,
    claim_mail,
    count_consecutive_failures,
    count_failures_since,
    find_recent_alert,
    give_up_mail,
    list_failed_runs,
    lock_failing,
    post_alert,
    set_failures,
    set_mailed,
)
from mainspring.workspace.automations import lock_triggers, set_state
from mainspring.workspace.people.email_addresses import find_author_address
from mainspring.workspace.push_subscriptions import queue_failure
from mainspring.workspace.schedules import list_waiting_schedules

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.settings import Settings
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

CONSUMER: Final = "alerts"
GATHERED: Final = timedelta(minutes=10)
PAUSED_REASON: Final = "failures"
TRIES: Final = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3_600.0
_POLL_SECONDS: Final = 5.0
_LONGEST_DETAIL: Final = 1_000
_NO_ADDRESS: Final = (
    "This alert was not mailed: the owner of the automation has no verified email address. The "
    "owner sets and verifies one on the page under Settings, or with `mainspring email set`."
)
_TYPES: Final = frozenset(kind.type for kind in EVENTS)

Pair = tuple[UUID, UUID]


def mails(settings: Settings) -> bool:
    """Whether alerts are mailed at all; each goes to the automation's owner."""
    return settings.smtp_url is not None


@dataclass(frozen=True, slots=True)
class _FailingAutomation:
    """An automation that failed often enough, and the failure that reached the limit."""

    automation: Mapping[str, Any]
    last: Mapping[str, Any]
    in_row: int


class FailureAlerts:
    """The event consumer that watches how runs end."""

    def __init__(self, limits: Limits, *, mail: bool) -> None:
        self._limits = limits
        self._mail = mail

    async def handle(self, tx: Transaction, events: Sequence[Event]) -> Callable[[], None] | None:
        """Report the failures among these events, in the transaction of the reader."""
        ended = [event for event in events if event.type in _TYPES and event.replay_of is None]
        failed = {_run_of(event): event.id for event in ended if event.type == FAILED.type}
        failed.pop(None, None)
        rows = await list_failed_runs(tx, [pair for pair in failed if pair]) if failed else []
        by_automation: dict[Pair, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            row["event_id"] = failed[row["workspace_id"], row["id"]]
            by_automation[row["workspace_id"], row["automation_id"]].append(row)
        touched = {*by_automation, *_automations_of(ended)}
        if touched:
            held = await lock_failing(tx, sorted(touched), set(by_automation))
            await self._pause(
                tx,
                [
                    stop
                    for found in held
                    if (stop := await self._check_failures(tx, found, by_automation[_pair(found)]))
                ],
            )
        return None

    async def _check_failures(
        self, tx: Transaction, automation: dict[str, Any], failures: list[dict[str, Any]]
    ) -> _FailingAutomation | None:
        """Report the failures of one automation; returns whether it must be paused."""
        workspace_id, automation_id = _pair(automation)
        in_row = await count_consecutive_failures(
            tx,
            workspace_id,
            automation_id,
            automation["acknowledged_at"],
            self._limits.failures_in_row,
        )
        if in_row != automation["failures"]:
            await set_failures(tx, workspace_id, automation_id, in_row)
        if not failures:
            return None
        await self._tell(tx, automation, failures)
        if in_row >= self._limits.failures_in_row and automation["state"] == "active":
            return _FailingAutomation(automation, failures[-1], in_row)
        return None

    async def _pause(self, tx: Transaction, stops: Sequence[_FailingAutomation]) -> None:
        """Lock the triggers of all automations before the first is changed."""
        pairs = [_pair(stop.automation) for stop in stops]
        if not pairs:
            return
        await lock_triggers(tx, pairs)
        before = await list_waiting_schedules(tx, pairs)
        for (workspace_id, automation_id), stop in zip(pairs, stops, strict=True):
            await set_state(tx, workspace_id, automation_id, "paused", PAUSED_REASON)
            alert = self._pause_alert(stop.automation, stop.last, stop.in_row)
            await post_alert(tx, alert)
            await queue_failure(
                tx, workspace_id, automation_id, alert.id, alert.run_id, paused=True
            )
        await record_overtaken(tx, before, self._limits)

    async def _tell(
        self, tx: Transaction, automation: dict[str, Any], failures: list[dict[str, Any]]
    ) -> None:
        """One alert for all of them: a new one, or the open one."""
        workspace_id, automation_id = automation["workspace_id"], automation["id"]
        # A person who starts a run sees how it ends.
        unattended = not all(map(_by_hand, failures))
        mail = self._mail and unattended
        since = automation["now"] - GATHERED
        if automation["acknowledged_at"] is not None:
            # An acknowledged alert is closed; later failures open a new one.
            since = max(since, automation["acknowledged_at"])
        there = await find_recent_alert(tx, workspace_id, automation_id, since)
        last = failures[-1]
        if there is None:
            first = min(failure["id"] for failure in failures)
            count = await count_failures_since(tx, workspace_id, automation_id, first)
            await post_alert(
                tx,
                Alert(
                    last["event_id"],
                    workspace_id,
                    automation_id,
                    first,
                    "error",
                    _title(automation["name"], "failed"),
                    _message(last, count),
                    mail,
                ),
            )
            if unattended:
                await queue_failure(tx, workspace_id, automation_id, last["event_id"], last["id"])
            return
        count = await count_failures_since(tx, workspace_id, automation_id, there["run_id"])
        await append_failure(tx, workspace_id, there["id"], _message(last, count), mail=mail)
        if unattended:
            await queue_failure(tx, workspace_id, automation_id, there["id"], last["id"])

    def _pause_alert(
        self, automation: Mapping[str, Any], last: Mapping[str, Any], in_row: int
    ) -> Alert:
        message = (
            f"Its last {in_row} runs failed, so its triggers are paused.\n\n"
            "Fix the cause, test it with a manual run, then activate it again. Fire times that "
            "pass while it is paused are not made up.\n\n"
            f"The latest failed run: mainspring logs {last['id']}"
        )
        return Alert(
            generate_id(),
            automation["workspace_id"],
            automation["id"],
            last["id"],
            "warning",
            _title(automation["name"], "was paused after repeated failures"),
            message,
            self._mail,
        )


class AlertMailer:
    """Mails alerts to the owners of automations; several processes may do so concurrently."""

    def __init__(
        self,
        database: Database,
        mailer: Mailer,
        first: str | None,
        *,
        poll_seconds: float = _POLL_SECONDS,
        first_pause: float = _FIRST_PAUSE,
    ) -> None:
        self._database = database
        self._mailer = mailer
        # The address of the first person while they have none of their own.
        self._first = first
        self._poll_seconds = poll_seconds
        self._first_pause = first_pause

    async def run(self, stop: asyncio.Event) -> None:
        """Run until stopped; a mail in progress is finished."""
        while not stop.is_set():
            try:
                brought = await self.once()
            except Exception as error:
                log.warning("Cannot send alert mails yet: %s", describe_for_log(error))
                brought = False
            if not brought:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_seconds):
                        await stop.wait()

    async def once(self) -> bool:
        """Send the mail that has been due for longest; returns whether there was one.

        Only one is claimed at a time: a slow mail server must not delay mails that another process
        could send.
        """
        async with self._database.transaction() as tx:
            mail = await claim_mail(tx, self._first_pause, _LONGEST_PAUSE)
            if mail is None:
                return False
            to = self._first
            if mail.automation_id is not None:
                to = await find_author_address(
                    tx, mail.workspace_id, mail.automation_id, self._first
                )
            if to is None:
                await give_up_mail(tx, mail, _NO_ADDRESS)
        if to is None:
            log.warning("Alert %s was not mailed: its owner has no verified address.", mail.id)
        else:
            await self._bring(mail, to)
        return True

    async def _bring(self, letter: AlertMail, to: str) -> None:
        mail = Mail(
            to=(to,),
            subject=letter.title,
            text=letter.message,
            headers={"Auto-Submitted": "auto-generated"},
        )
        try:
            # The key makes a repeat recognisable, should this process die before it is recorded.
            await self._mailer.send(mail, key=str(letter.id))
        except Problem as problem:
            await self._not_taken(letter, problem)
            return
        async with self._database.transaction() as tx:
            await set_mailed(tx, letter)

    async def _not_taken(self, mail: AlertMail, problem: Problem) -> None:
        if mail.tries < TRIES:
            log.info("Alert %s could not be mailed; retrying later: %s", mail.id, problem.detail)
            return
        log.error(
            "Alert %s could not be mailed after %s attempts and stays in the inbox only: %s",
            mail.id,
            mail.tries,
            problem.detail,
        )
        why = f"This alert was not mailed: {problem.detail[:_LONGEST_DETAIL]}"
        async with self._database.transaction() as tx:
            await give_up_mail(tx, mail, why)


def _pair(automation: Mapping[str, Any]) -> Pair:
    return automation["workspace_id"], automation["id"]


def _run_of(event: Event) -> Pair | None:
    run_id = _id(event.payload.get("run_id"))
    return None if run_id is None else (event.workspace_id, run_id)


def _automations_of(events: Iterable[Event]) -> set[Pair]:
    found = ((event.workspace_id, _id(event.payload.get("automation_id"))) for event in events)
    return {(space, one) for space, one in found if one is not None}


def _id(text: Any) -> UUID | None:
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _by_hand(run: Mapping[str, Any]) -> bool:
    return run["trigger_type"] == "manual" or run["replay_of"] is not None


def _title(name: str, what: str) -> str:
    """One line, because it becomes the subject of a mail and a name may contain anything."""
    words = "".join(sign if sign.isprintable() else " " for sign in name).split()
    return f"{' '.join(words) or 'An automation'} {what}"


def _message(run: Mapping[str, Any], count: int) -> str:
    """What happened, where, and what to do next."""
    error = run["error"] or {}
    step = error.get("failed_step_id")
    detail = str(error.get("detail") or _WORDS[run["status"]])[:_LONGEST_DETAIL]
    lines = [f"Step {step} failed: {detail}" if step else detail]
    if error.get("suggestion"):
        lines.append(str(error["suggestion"])[:_LONGEST_DETAIL])
    second = error.get("on_failure")
    if isinstance(second, Mapping):
        # The notice that on_failure would have sent did not leave either.
        told = str(second.get("detail"))[:_LONGEST_DETAIL]
        lines.append(f"on_failure failed too, at step {second.get('step')}: {told}")
    lines += ["", f"Run {run['id']}, {_STARTED.get(run['trigger_type'], 'by a trigger')}."]
    if count > 1:
        lines.append(f"{_times(count)} since this alert was opened; this is the latest one.")
    lines += ["", f"Show the run: mainspring logs {run['id']}"]
    if "retry" in list_next_actions(run):
        lines.append(f"After you fix the cause outside Mainspring: mainspring retry {run['id']}")
    lines.append(f"After you fix the definition: mainspring replay {run['id']} --version active")
    return "\n".join(lines)


def _times(count: int) -> str:
    said = f"{count}" if count <= MOST_COUNTED else f"More than {MOST_COUNTED}"
    return f"{said} runs have failed"


_WORDS: Final = {
    "failed": "The run failed.",
    "timed_out": "The run exceeded its timeout.",
    "dead": "The run was given up after losing its workers repeatedly.",
}
_STARTED: Final = {
    "manual": "started manually",
    "schedule": "started by its schedule",
    "webhook": "started by its webhook",
    "form": "started by its form",
    "event": "started by an event",
    "board_change": "started by a board change",
    "page_ingested": "started by a page change",
    "chat_message": "started by a chat message",
    **dict.fromkeys(POLL_TYPES, "started by its poll"),
}
