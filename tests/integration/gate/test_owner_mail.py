"""Mail about an automation goes to the person who made it, in whatever workspace that is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.definition.validate import validate
from mainspring.runs.run_requests import RunRequest
from mainspring.triggers.alerts import AlertMailer
from mainspring.workspace.alerts import Alert, post_alert
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.kit.bench import Bench, document, step
from tests.kit.gate import Market, gate_bench
from tests.kit.mail import MailServerDouble, mail_server
from tests.kit.tenants import NEIGHBOUR, add_person, add_workspace

OPERATOR = "operator@example.com"
PLACEHOLDER = "owner@localhost"
TELL = document(
    step("tell", "email.notify_owner", {"subject": "Done", "text": "All is well."}, max_retries=0),
    execution={"write_policy": "auto_confirm_safe"},
)


@dataclass(slots=True)
class Side:
    """A workspace with an automation that tells its owner something."""

    bench: Bench
    post: MailServerDouble
    person: UUID
    automation_id: UUID

    async def told(self) -> tuple[str, list[str]]:
        """How a run of it ends, and who got a mail from it."""
        before = len(self.post.envelopes)
        request = RunRequest(self.bench.application.workspace_id, self.automation_id)
        made = await self.bench.application.dispatcher.dispatch(request)
        run = await self.bench.until(made.run_id)
        return run["reason"] or run["status"], self._reached(before)

    async def alerted(self) -> list[str]:
        """Who gets a mail when an alert is posted about it."""
        before, application = len(self.post.envelopes), self.bench.application
        alert = Alert(
            generate_id(),
            application.workspace_id,
            self.automation_id,
            generate_id(),
            "error",
            "It failed",
            "So.",
            mail=True,
        )
        async with application.database.transaction() as tx:
            await post_alert(tx, alert)
        mailer = AlertMailer(
            application.database, application.mailer, application.settings.owner_mail
        )
        assert await mailer.once()
        assert not await mailer.once()
        return self._reached(before)

    async def called(self, email: str, state: str = "verified") -> None:
        """This is the person's address."""
        query = "UPDATE users SET email = $2, email_state = $3 WHERE id = $1"
        await self.bench.application.database.execute(query, self.person, email, state)

    def _reached(self, before: int) -> list[str]:
        return [address for one in self.post.envelopes[before:] for address in one.rcpt_tos]


async def _side(bench: Bench, post: MailServerDouble, workspace_id: UUID, person: UUID) -> Side:
    application = replace(bench.application, workspace_id=workspace_id)
    report = validate(TELL, application.registry, application.limits)
    async with application.database.transaction() as tx:
        made = await save(tx, workspace_id, report.accepted(), report.grants, person, via="page")
    return Side(Bench(application, bench.outside), post, person, made.automation_id)


@asynccontextmanager
async def _both(bench: Bench, **settings: Any) -> AsyncIterator[tuple[Side, Side]]:
    """The first person's workspace and somebody else's, over one mail server."""
    post, database = MailServerDouble(), bench.application.database
    async with mail_server(post) as port:
        url = f"smtp://127.0.0.1:{port}"
        async with gate_bench(bench, Market(), smtp_url=url, **settings) as one, one.worker():
            await add_workspace(database, NEIGHBOUR, "Next door")
            person = (await add_person(database, NEIGHBOUR)).id
            yield (
                await _side(one, post, one.application.workspace_id, FIRST_MEMBER),
                await _side(one, post, NEIGHBOUR, person),
            )


async def test_no_workspace_mails_the_owner_of_the_installation_but_their_own(
    bench: Bench,
) -> None:
    async with _both(bench, owner_mail=OPERATOR) as (home, next_door):
        email = f"{next_door.person}@example.test"
        # An address that nobody has verified gets nothing.
        assert await next_door.told() == ("owner_mail_missing", [])
        assert await next_door.alerted() == []
        await next_door.called(email)
        assert await next_door.told() == ("succeeded", [email])
        assert await next_door.alerted() == [email]
        assert await home.told() == ("succeeded", [OPERATOR])
        assert await home.alerted() == [OPERATOR]

        # What the operator has set stays in force until the first person verifies their own.
        await home.called("ada@example.com", "unverified")
        assert await home.told() == ("succeeded", [OPERATOR])
        assert await home.alerted() == [OPERATOR]

        # An address from before addresses were verified still gets mail.
        await next_door.called(email, "pre_existing")
        assert await next_door.told() == ("succeeded", [email])

        # An address of one's own comes first, and nobody takes the first person's place.
        await home.called("ada@example.com")
        await next_door.called(PLACEHOLDER)
        assert await home.told() == ("succeeded", ["ada@example.com"])
        assert await home.alerted() == ["ada@example.com"]
        assert await next_door.told() == ("owner_mail_missing", [])
        assert await next_door.alerted() == []

        # Who has left is not written to any more.
        await next_door.called(email)
        await bench.application.database.execute(
            "UPDATE automations SET state = 'active' WHERE id = $1", next_door.automation_id
        )
        query = "DELETE FROM members WHERE user_id = $1"
        await bench.application.database.execute(query, next_door.person)
        assert await next_door.told() == ("owner_mail_missing", [])
        assert await next_door.alerted() == []
        inbox = "SELECT count(*) FROM notifications WHERE workspace_id = $1"
        assert await bench.application.database.fetchval(inbox, NEIGHBOUR) == 4
        due = "SELECT count(*) FROM notifications WHERE mailed_at IS NULL AND mail_due_at > now()"
        assert await bench.application.database.fetchval(due) == 0
