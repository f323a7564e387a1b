"""What writes to an integration waits for a person, whichever interface it is asked for at.

Five integrations are connected and run on loopback as doubles. Under every policy and through
every interface nothing at all reaches them; then a person agrees, and each is written to once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.app import build_application
from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import PermissionDenied, ReconnectRequired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from mainspring.integrations.gmail.compose import CALL_HEADER, build_call_id
from mainspring.registry import build_registry
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.sealing import connection_scope
from tests.kit.agents import calls, ends, thinking
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.doubles import calendar, github, gmail, google, linear, slack
from tests.kit.gate import TokenStep
from tests.kit.model_doubles import FakeModels
from tests.kit.scripted_server import ScriptedDouble
from tests.kit.scripts import script

WRITES: Mapping[str, Mapping[str, Any]] = {
    "gmail.send_email": {"to": ["noah@example.com"], "subject": "Hi", "body": "Yes."},
    "github.open_issue": {"owner": "octo", "repo": "hello", "title": "The door"},
    "slack_post": {"channel": "C1", "text": "It is green."},
    "calendar.create_event": {
        "summary": "Plan",
        "start": "2026-06-01T09:00:00Z",
        "end": "2026-06-01T10:00:00Z",
    },
    "linear_create_issue": {"team": "ENG", "title": "The door"},
}
# Each by its integration, and by the name that the integration offers it under.
OFFERED = {
    "gmail.send_email": ("gmail", "send_email"),
    "github.open_issue": ("github", "github.open_issue"),
    "slack_post": ("slack", "slack_post"),
    "calendar.create_event": ("calendar", "calendar.create_event"),
    "linear_create_issue": ("linear", "linear_create_issue"),
}
TOKENS = {
    "gmail": google.TOKEN,
    "calendar": google.TOKEN,
    "github": github.TOKEN,
    "slack": slack.TOKEN,
    "linear": linear.TOKEN,
}
SEND = "POST /upload/gmail/v1/users/me/messages/send"
POLICIES = ("always_draft", "auto_confirm_safe")


def _acts(capability: str) -> dict[str, Any]:
    """The same write as an exact action of its integration."""
    integration, name = OFFERED[capability]
    return {
        "install_id": str(install_id_of(integration)),
        "action_name": name,
        "input": dict(WRITES[capability]),
    }


@dataclass(slots=True)
class Five:
    """An application that is connected to all five."""

    bench: Bench
    api: Api
    doubles: Mapping[str, ScriptedDouble]
    models: FakeModels
    token_step: TokenStep

    @property
    def reached(self) -> list[str]:
        return [name for name, double in self.doubles.items() if double.requests]

    @property
    def owner(self) -> CapabilityCaller:
        space = self.bench.application.workspace_id
        return CapabilityCaller(Actor(space, "member", FIRST_MEMBER, role=Role.OWNER))

    async def drafts(self) -> int:
        count: int = await self.bench.application.database.fetchval("SELECT count(*) FROM drafts")
        return count

    async def ended(self, plan: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        made = await self.bench.dispatch(plan, **more)
        return await self.bench.until(made.run_id)


@asynccontextmanager
async def _five(bench: Bench) -> AsyncIterator[Five]:
    async with AsyncExitStack() as stack:
        doubles: dict[str, ScriptedDouble] = {
            "gmail": await stack.enter_async_context(gmail.gmail_double()),
            "github": (hub := await stack.enter_async_context(github.github_double())),
            "slack": (chat := await stack.enter_async_context(slack.slack_workspace())),
            "calendar": (days := await stack.enter_async_context(calendar.calendar_double())),
            "linear": await stack.enter_async_context(linear.linear_double()),
        }
        hub.repositories["octo/hello"] = github.Repository()
        chat.channels["C1"] = "general"
        days.calendar("primary", "Mine")
        given, hand, models = bench.application.settings, TokenStep(), FakeModels()
        settings = replace(
            given,
            egress_allow=frozenset(one.pair for one in doubles.values()),
            integration_urls={name: one.url for name, one in doubles.items()},
        )
        application = bench.application
        vocabulary = build_registry(
            Limits(),
            settings=settings,
            vault=application.vault,
            database=application.database,
            capabilities=bench.outside.capabilities(),
            script_runner=application.script_runner,
            actions=(hand.action(),),
        )
        made = build_application(
            settings, Limits(), vocabulary, application.database, application.script_runner, models
        )
        for name in doubles:
            await _connect(bench, name)
        here = Bench(made, bench.outside)
        try:
            async with served(made) as api, here.worker():
                yield Five(here, api, doubles, models, hand)
        finally:
            hand.release.set()
            await made.gate.aclose()
            await made.wakeup_sender.aclose()
            await made.egress.aclose()


async def _connect(bench: Bench, name: str) -> None:
    space, own = bench.application.workspace_id, generate_id()
    await bench.application.database.execute(
        "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, label, "
        "account, auth, state) VALUES ($1, $2, $3, $4, $4, 'me', 'oauth', 'ready')",
        space,
        own,
        FIRST_MEMBER,
        name,
    )
    await bench.application.vault.set(connection_scope(space, own), "token", TOKENS[name])


def _plans(policy: str) -> list[tuple[dict[str, Any], int]]:
    """Every way in which a plan can ask for the five, with how many drafts that makes."""
    execution = {"write_policy": policy}
    direct = [step(f"w{n}", name, dict(given)) for n, (name, given) in enumerate(WRITES.items())]
    acts = [step(f"a{n}", "act_on_integration", _acts(name)) for n, name in enumerate(WRITES)]
    bad = step("bad", "test.flaky", {"failures": 9, "permanent": True}, max_retries=0)
    again = step("again", "test.flaky", {"failures": 1}, retry_backoff="none", max_retries=1)
    looped = step("all", "for_each", {"items": [1, 2], "steps": direct})
    source = "".join(
        f"await brains[{json.dumps(name)}]({json.dumps(given)});\n"
        for name, given in WRITES.items()
    )
    return [
        (document(*direct, name=f"steps {policy}", execution=execution), 5),
        (document(*acts, name=f"acts {policy}", execution=execution), 5),
        (document(looped, name=f"nested {policy}", execution=execution), 10),
        (document(again, *direct, name=f"after a retry {policy}", execution=execution), 5),
        (
            document(
                bad, name=f"on failure {policy}", execution={**execution, "on_failure": direct}
            ),
            5,
        ),
        (
            {
                **script(f"{source}return 1;", *WRITES),
                "name": f"script {policy}",
                "execution": execution,
            },
            5,
        ),
    ]


@pytest.mark.parametrize("policy", POLICIES)
async def test_no_plan_script_or_agent_writes_to_an_integration_without_a_person(
    bench: Bench, policy: str
) -> None:
    async with _five(bench) as here:
        for plan, held in _plans(policy):
            run = await here.ended(plan)
            assert run["drafts"] == held, (plan["name"], run["error"])
            # Run once more by a person, it asks once more and sends as little.
            if held == 5:
                again = await here.api.client.post(f"/api/v1/runs/{run['id']}/replay", json={})
                assert again.status_code == 202, again.text
                assert (await here.bench.until(UUID(again.json()["run_id"])))["drafts"] == held
            assert here.reached == [], plan["name"]
        here.models.script = [
            calls(*((name.replace(".", "_"), dict(given)) for name, given in WRITES.items())),
            ends(),
        ]
        agent = await here.ended(
            thinking(*WRITES, name="an agent", execution={"write_policy": policy})
        )
        assert (agent["status"], agent["drafts"]) == ("succeeded", 5), agent["error"]
        for mode in ("dry_run", "verify"):
            before = await here.drafts()
            plan = _plans(policy)[0][0]
            trial = await here.ended({**plan, "name": mode}, mode=mode)
            assert trial["status"] == "succeeded", trial["error"]
            assert await here.drafts() == before
        assert here.reached == []


async def test_no_client_or_token_of_a_run_writes_and_a_person_does_it_once(bench: Bench) -> None:
    async with _five(bench) as here:
        for name, given in WRITES.items():
            rest = await here.api.client.post(f"/api/v1/capabilities/{name}", json=dict(given))
            if name == "slack_post":
                # A word of plans alone: it may name a secret, and people do not.
                assert rest.status_code == 404, rest.text
            else:
                mcp = await here.bench.application.gate.serve(here.owner, name, dict(given))
                assert [rest.json()["kind"], mcp["kind"]] == ["draft"] * 2, name
            acted = await here.bench.application.gate.direct(
                here.owner, "act_on_integration", _acts(name)
            )
            assert acted["kind"] == "draft", name
        async with _run_token(here) as inside:
            gate = here.bench.application.gate
            for name, given in WRITES.items():
                own = await gate.serve(inside, name, dict(given))
                acted = await gate.serve(inside, "act_on_integration", _acts(name))
                for held in (own, acted):
                    with pytest.raises(PermissionDenied) as refused:
                        await gate.serve(inside, "confirm_action", {"draft_id": held["draft_id"]})
                    assert refused.value.code == "needs_a_person", name
        assert await here.drafts() == 23
        assert here.reached == []

        latest = await here.bench.application.database.fetch(
            "SELECT DISTINCT ON (capability) id, capability FROM drafts "
            "WHERE capability <> 'act_on_integration' ORDER BY capability, id"
        )
        assert {row["capability"] for row in latest} == set(WRITES)
        for row in latest:
            for _ in range(2):
                sent = await here.bench.application.gate.direct(
                    here.owner, "confirm_action", {"draft_id": str(row["id"])}
                )
                assert sent["outcome"] == "sent", (row["capability"], sent)
        made = {name: len(one.messages) for name, one in here.doubles.items()}
        # Linear is asked for its team first, by the same kind of request.
        asked = here.doubles["linear"]
        made["linear"] = sum(b"mutation" in request for request in asked.requests)
        assert made == dict.fromkeys(here.doubles, 1)


async def test_a_mail_is_searched_for_only_where_its_draft_was_tried_before(bench: Bench) -> None:
    async with _five(bench) as here:
        mailbox = here.doubles["gmail"]
        assert isinstance(mailbox, gmail.GmailDouble)
        mails = [step("mail", "gmail.send_email", dict(WRITES["gmail.send_email"]))]
        looped = step("all", "for_each", {"items": [1, 2, 3], "steps": mails})
        run = await here.ended(document(looped, name="mails"))
        drafts = await here.bench.application.database.fetch(
            "SELECT id FROM drafts WHERE run_id = $1 ORDER BY id", run["id"]
        )

        async def confirmed(draft_id: UUID) -> dict[str, Any]:
            found: dict[str, Any] = await here.bench.application.gate.direct(
                here.owner, "confirm_action", {"draft_id": str(draft_id)}
            )
            return found

        first, second, third = (row["id"] for row in drafts)
        await confirmed(first)
        await confirmed(second)
        assert [one.method for one in mailbox.asked] == ["POST", "POST"]

        # Gmail refuses the third, so that its draft waits; it has left all the same.
        mailbox.planned = {SEND: [google.scope_missing()]}
        with pytest.raises(ReconnectRequired):
            await confirmed(third)
        mark = {"To": "noah@example.com", CALL_HEADER: build_call_id(f"draft/{third}")}
        mailbox.put(
            "left",
            "left",
            gmail.leaf("text/plain", b"x", **mark),
            at=int(time.time()),
            labels=("SENT",),
        )
        await here.bench.application.database.execute(
            "UPDATE integration_connections SET state = 'ready' WHERE integration = 'gmail'"
        )
        assert (await confirmed(third))["result"] == {"message_id": "left"}
        assert len(mailbox.sent) == 2


@asynccontextmanager
async def _run_token(here: Five) -> AsyncIterator[CapabilityCaller]:
    """A run in the middle of a step, which calls with its own token as scripts do."""
    grants = [{"capability": one} for one in (*WRITES, "act_on_integration", "confirm_action")]
    held = step("a", "test.hand", {"grants": grants}, max_retries=0)
    safe = {"write_policy": "auto_confirm_safe"}
    made = await here.bench.dispatch(document(held, name="holds", execution=safe))
    try:
        token = await asyncio.wait_for(here.token_step.tokens.get(), 20)
        found = await find_pass(here.bench.application.database, token)
        assert found is not None
        yield CapabilityCaller(found.actor, held=found)
    finally:
        here.token_step.release.set()
        with contextlib.suppress(TimeoutError):
            await here.bench.until(made.run_id)
