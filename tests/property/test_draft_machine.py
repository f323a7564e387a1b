"""Drafts as a state machine: whatever order people answer in, a mail is sent at most once.

Mails are drafted, edited, confirmed with the hash that was shown and with others, discarded,
expired, drafted again, answered in sets, and left in doubt by a worker lost while sending. In
some workspaces two people have to agree, to the same text. A naive model of the database says
what must have been sent by now: the text that the approvers were shown, once, and nothing else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mainspring.app import build_application, build_registry, prepare_database
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from tests.kit.mail_drafts import MailDrafts
from tests.kit.postgres import fresh_database

Found = TypeVar("Found")
# scripts/fuzz_states.py goes further.
EXAMPLES: Final = int(os.environ.get("STATE_EXAMPLES", "20"))
STEPS: Final = int(os.environ.get("STATE_STEPS", "50"))
WRONG: Final = "ab" * 32
# One mail is refused by the mail server, and at one the sender is lost after it was sent.
BODIES = st.sampled_from(["Hello", "Goodbye", "Boom", "Vanish"])
EDITS = st.sampled_from(
    [{"body": "Goodbye"}, {"body": "Vanish"}, {"cc": ["b@example.com"]}, {"cc": None}]
)
BAD_EDITS = st.sampled_from(
    [
        {"seal": "blue"},
        {"input": {}},
        {"body": ""},
        {"body": None},
        {"to": ["nobody"]},
        {"body": "x", "seal": "blue"},
    ]
)
SEEN = st.sampled_from(["none", "now", "now", "now", "first", "wrong"])
# The author of the mails, and another member.
WHO = st.sampled_from(["owner", "other"])
_STANDS: Final = """
    SELECT id, revision, encode(bound_hash, 'hex') AS hash, outcome,
        CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END
            AS status
    FROM drafts
"""


@dataclass(slots=True)
class Expected:
    """What the model believes about one draft."""

    id: str
    content: dict[str, Any]
    hash: str
    line: int
    state: str = "pending"
    revision: int = 1
    first: str = ""
    # What somebody was answered when it had ended: the same for ever after.
    final_answer: Any = None
    # To which words each person has agreed last.
    agreed: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """An application with the mail capability, kept for all examples."""

    runner: asyncio.Runner
    box: MailDrafts
    other: CapabilityCaller
    lost: list[asyncio.Task[Any]] = field(default_factory=list)

    def ask(self, capability: str, given: Mapping[str, Any], who: str = "owner") -> Any:
        """The answer, or the problem."""
        caller = self.other if who == "other" else None
        return self.runner.run(self._answer(self.box.ask(capability, given, caller)))

    def do(self, query: str, *values: Any) -> Any:
        return self.runner.run(self.box.application.database.fetch(query, *values))

    async def _answer(self, asking: Coroutine[Any, Any, Any]) -> Any:
        """Waits for it, or until the mail was sent and its sender is lost."""
        sent, task = len(self.box.sent), asyncio.create_task(asking)
        while not task.done():
            await asyncio.wait({task}, timeout=0.01)
            if self.box.sent[sent:] and self.box.sent[-1]["body"] == "Vanish":
                self.lost.append(task)
                return None
        problem = task.exception()
        if problem is None:
            return task.result()
        if not isinstance(problem, Problem):
            raise problem
        return problem


def vanishing(box: MailDrafts) -> Capability:
    """Mails of which one is sent by a worker that is then lost."""
    made = box.capability()

    async def send(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        answer = await made.handler(ctx, given)
        if given["input"]["body"] == "Vanish":
            await asyncio.Event().wait()
        return answer

    return replace(made, handler=send)


class Drafts(RuleBasedStateMachine):
    """Everything that may happen to drafts, in any order."""

    # Set by the test: one application serves all examples.
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.drafts: list[Expected] = []
        self.left: list[dict[str, Any]] = []
        self.needed = 1

    @initialize(needed=st.sampled_from([1, 2]))
    def start(self, needed: int) -> None:
        self.world.do("TRUNCATE drafts, draft_revisions, draft_approvals, draft_attachments")
        self.world.box.sent.clear()
        self.needed = needed
        policy = self.world.ask("set_approval_policy", {"approvers": needed})
        assert policy["approvers"] == needed

    def _one(self, data: st.DataObject) -> Expected:
        """Any of them, and more often one with which something may still happen."""
        lively = [one for one in self.drafts if one.state in ("pending", "lost")]
        return data.draw(st.sampled_from([*lively, *lively, *self.drafts]))

    def _seen(self, draft: Expected, seen: str) -> dict[str, str]:
        shown = {"now": draft.hash, "first": draft.first, "wrong": WRONG}
        return {} if seen == "none" else {"hash": shown[seen]}

    def _agrees(self, draft: Expected, given: Mapping[str, str]) -> bool:
        """Whether these words of a person are about the draft as it is."""
        return given["hash"] == draft.hash if "hash" in given else draft.revision == 1

    @precondition(lambda self: len(self.drafts) < 6)
    @rule(body=BODIES)
    def write(self, body: str) -> None:
        words = {"to": ["ada@example.com"], "body": body, "seal": "red"}
        held = self.world.ask("test.letter", {"input": words})
        made = Expected(held["draft_id"], words, held["hash"], len(self.drafts), first=held["hash"])
        self.drafts.append(made)

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), edits=EDITS, seen=SEEN)
    def edit(self, data: st.DataObject, edits: Mapping[str, Any], seen: str) -> None:
        draft = self._one(data)
        given = self._seen(draft, seen)
        answer = self.world.ask("edit_action", {"draft_id": draft.id, "edits": edits, **given})
        if draft.state != "pending" or ("hash" in given and given["hash"] != draft.hash):
            assert isinstance(answer, Problem)
            return
        self._reworded(draft, edits)
        assert answer["revision"] == draft.revision
        draft.hash = answer["hash"]

    def _reworded(self, draft: Expected, edits: Mapping[str, Any]) -> None:
        words = {**draft.content, **edits}
        words = {name: value for name, value in words.items() if value is not None}
        if words != draft.content:
            draft.content, draft.revision = words, draft.revision + 1

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), edits=BAD_EDITS, name=st.sampled_from(["edit_action", "confirm_action"]))
    def edit_what_may_not_be(self, data: st.DataObject, edits: Any, name: str) -> None:
        draft = self._one(data)
        given = {"draft_id": draft.id, "edits": edits, "hash": draft.hash}
        answer = self.world.ask(name, given)
        if name == "confirm_action" and draft.state in ("sent", "refused", "doubt"):
            assert answer == draft.final_answer
        else:
            assert isinstance(answer, Problem)

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), seen=SEEN, edits=st.none() | EDITS, who=WHO)
    def confirm(
        self, data: st.DataObject, seen: str, edits: Mapping[str, Any] | None, who: str
    ) -> None:
        draft = self._one(data)
        given = self._seen(draft, seen)
        more = {} if edits is None else {"edits": edits}
        answer = self.world.ask("confirm_action", {"draft_id": draft.id, **given, **more}, who)
        self._confirmed(draft, given, edits, answer, who)

    def _confirmed(
        self,
        draft: Expected,
        given: Mapping[str, str],
        edits: Mapping[str, Any] | None,
        answer: Any,
        who: str,
    ) -> None:
        if who == "other" and (self.needed == 1 or edits is not None):
            # What somebody wrote themselves is sent by them alone, and in no words of others.
            assert isinstance(answer, Problem) or "error" in answer
            return
        if draft.state in ("sent", "refused", "doubt"):
            assert draft.final_answer is None or answer == draft.final_answer
            draft.final_answer = answer
            return
        if draft.state != "pending" or not self._agrees(draft, given):
            assert isinstance(answer, Problem) or answer["status"] == "failed"
            return
        if edits is not None:
            self._reworded(draft, edits)
        [row] = self.world.do(_STANDS + " WHERE id = $1", UUID(draft.id))
        draft.hash = draft.agreed[who] = row["hash"]
        so_far = sum(words == draft.hash for words in draft.agreed.values())
        if so_far < self.needed:
            assert (answer["status"], answer.get("approvals")) == ("approved", so_far)
            return
        self._sent(draft, answer)

    def _sent(self, draft: Expected, answer: Any) -> None:
        if draft.content["body"] == "Boom":
            draft.state = "refused"
            assert answer["outcome"] == "not_sent"
        else:
            draft.state = "lost" if draft.content["body"] == "Vanish" else "sent"
            self.left.append(draft.content)
        draft.final_answer = answer

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), who=WHO)
    def confirm_several(self, data: st.DataObject, who: str) -> None:
        # A worker that sends one that vanishes is lost with the rest of the set.
        calm = [one for one in self.drafts if one.content["body"] != "Vanish"]
        some = data.draw(
            st.lists(
                st.sampled_from(calm or self.drafts),
                min_size=1,
                max_size=4,
                unique_by=lambda one: one.id,
            )
        )
        if not calm:
            return
        seen = {one.id: self._seen(one, data.draw(SEEN)) for one in some}
        hashes = {name: given["hash"] for name, given in seen.items() if given}
        asked = {"draft_ids": [one.id for one in some], **({"hashes": hashes} if hashes else {})}
        results = self.world.ask("confirm_actions", asked, who)["results"]
        assert [one["draft_id"] for one in results] == asked["draft_ids"]
        for draft, answer in zip(some, results, strict=True):
            self._confirmed(draft, seen[draft.id], None, answer, who)

    @precondition(lambda self: self.drafts)
    @rule(data=st.data(), several=st.booleans())
    def discard(self, data: st.DataObject, several: bool) -> None:
        draft = self._one(data)
        if several:
            answer = self.world.ask("discard_actions", {"draft_ids": [draft.id]})["results"][0]
            done = answer["status"] == "discarded"
        else:
            done = not isinstance(self.world.ask("discard_action", {"draft_id": draft.id}), Problem)
        assert done is (draft.state in ("pending", "discarded"))
        draft.state = "discarded" if done else draft.state

    @precondition(lambda self: any(one.state == "pending" for one in self.drafts))
    @rule(data=st.data())
    def run_out(self, data: st.DataObject) -> None:
        waiting = [one for one in self.drafts if one.state == "pending"]
        draft = data.draw(st.sampled_from(waiting))
        self.world.do("UPDATE drafts SET expires_at = now() WHERE id = $1", UUID(draft.id))
        draft.state = "expired"

    @precondition(lambda self: any(one.state == "lost" for one in self.drafts))
    @rule(data=st.data())
    def wait_for_the_lost(self, data: st.DataObject) -> None:
        """So long that nobody who sends can still be at it."""
        lost = data.draw(st.sampled_from([one for one in self.drafts if one.state == "lost"]))
        past = "UPDATE drafts SET answered_at = now() - interval '7 minutes' WHERE id = $1"
        self.world.do(past, UUID(lost.id))
        lost.state = "doubt"
        lost.final_answer = self.world.ask("confirm_action", {"draft_id": lost.id})
        assert lost.final_answer["outcome"] == "unknown"

    @precondition(lambda self: self.drafts and len(self.drafts) < 8)
    @rule(data=st.data())
    def draft_again(self, data: st.DataObject) -> None:
        draft = self._one(data)
        line = [one for one in self.drafts if one.line == draft.line]
        waiting = [one for one in line if one.state == "pending"]
        answer = self.world.ask("redraft_action", {"draft_id": draft.id})
        if waiting and waiting[0].id != draft.id:
            assert answer["draft_id"] == waiting[0].id
        elif any(one.state not in ("expired", "discarded", "refused") for one in line):
            assert isinstance(answer, Problem)
        else:
            newest = line[-1]
            assert answer["hash"] == newest.hash
            made = Expected(answer["draft_id"], dict(newest.content), newest.hash, draft.line)
            made.first = newest.hash
            self.drafts.append(made)

    @invariant()
    def what_left_is_what_was_shown_and_once(self) -> None:
        sent = [{k: v for k, v in one.items() if k != "key"} for one in self.world.box.sent]
        assert sent == self.left
        keys = [one["key"] for one in self.world.box.sent]
        assert len(set(keys)) == len(keys)

    @invariant()
    def the_database_agrees(self) -> None:
        rows = {str(row["id"]): row for row in self.world.do(_STANDS)}
        assert rows.keys() == {one.id for one in self.drafts}
        words = {"sent": "confirmed", "refused": "failed", "lost": "sending", "doubt": "sending"}
        for one in self.drafts:
            row = rows[one.id]
            assert row["status"] == words.get(one.state, one.state)
            assert (row["hash"], row["revision"]) == (one.hash, one.revision)
        lines = [one.line for one in self.drafts if one.state in ("sent", "lost", "doubt")]
        assert len(set(lines)) == len(lines), "one of a line has left, and another too"


def test_whatever_order_people_answer_in_a_letter_leaves_once_in_the_words_they_saw(
    postgres_server: EmbeddedServer, migrated_template: str, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            making = fresh_database(postgres_server, migrated_template)
            url = runner.run(stack.enter_async_context(making))
            box = runner.run(_box(stack, url, tmp_path))
            Drafts.world = World(runner, box, runner.run(box.member(Role.OWNER)))
            run_state_machine_as_test(
                Drafts,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    # The same examples in each check; a longer search chooses others each time.
                    derandomize="STATE_EXAMPLES" not in os.environ,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(stack.aclose())


async def _box(stack: AsyncExitStack, url: str, home: Path) -> MailDrafts:
    given = Settings(home=home, database_url=url, draft_seconds=600.0)
    database = await Database.open(given)
    stack.push_async_callback(database.close)
    plain = build_application(given, Limits(), None, database)
    box = MailDrafts(plain)
    registry = build_registry(Limits(), settings=given, capabilities=(vanishing(box),))
    box.application = build_application(given, Limits(), registry, database)
    await prepare_database(box.application)
    for application in (plain, box.application):
        stack.push_async_callback(application.egress.aclose)
        stack.push_async_callback(application.wakeup_sender.aclose)
        stack.push_async_callback(application.gate.aclose)
    return box
