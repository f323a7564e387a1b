"""A guided way, followed to its end: a scripted client makes, tries and activates an automation.

The official MCP client speaks to a started server. It knows nothing but the playbook: which
questions there are, which tools to call and how a skeleton is filled; a person's answers stand
in a table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from mcp import Client

from tests.acceptance.commands import Mainspring, open_folder
from tests.acceptance.server import Json, Started, started
from tests.kit.mcp import connected


@pytest.fixture(scope="module")
def server() -> Iterator[Started]:
    with open_folder() as folder, started(Mainspring(folder / "home")) as made:
        yield made


class Person:
    """Answers the questions of the playbook, once each."""

    def __init__(self, board_id: str) -> None:
        self.asked: list[str] = []
        self.answers: Mapping[str, Any] = {
            "kind": "cron",
            "when": {"kind": "cron", "cron": "0 9 * * 1", "tz": "America/New_York"},
            "reads": "pages",
            "writes": [board_id],
            "dedupe": "page_id",
            "overlap": "leave it",
            "grants": "yes",
            "egress": "",
            "secrets": [],
            "caps": {"cost_cap_daily_usd": 0.5, "max_wall_seconds": 30},
            "review": "yes",
            "hand_off": "activate",
        }

    def answer(self, question: Json) -> Any:
        assert question["id"] not in self.asked, "one question at a time, and each once"
        self.asked.append(question["id"])
        assert question["question"].strip()
        return self.answers[question["id"]]


async def _call(client: Client, tool: str, **arguments: Any) -> Json:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.structured_content)
    summary: Json = result.structured_content
    return summary


def _script(playbook: Json, names: Mapping[str, str]) -> tuple[str, list[Json]]:
    """The usual skeleton with its blanks filled."""
    [skeleton] = [one for one in playbook["skeletons"] if one["id"] == "append_once"]
    source: str = skeleton["source"]
    for blank in skeleton["blanks"]:
        source = source.replace(blank["blank"], names[blank["blank"].strip("_")])
    return source, skeleton["tool_grants"]


class Follower:
    """A client that does what each step of the playbook says, in the order of the playbook."""

    def __init__(self, client: Client, board: str, begun: Json) -> None:
        self.client, self.board, self.begun = client, board, begun
        self.person = Person(board)
        self.draft: Json = {"name": "Log invoices", "intent": begun["purpose_hint"]}
        self.saved: Json = {}
        self.dry: Json = {}
        self.names = {
            "BOARD_ID": board,
            "DATASET": "default",
            "KEY_FIELD": "page_id",
            "QUERY": "invoice",
            "PAGE_TYPE": "note",
        }

    async def follow(self) -> None:
        """Every step: first its questions, then what it says to do."""
        for step in self.begun["playbook"]["steps"]:
            answers = {one["id"]: self.person.answer(one) for one in step["ask"]}
            act = getattr(self, f"do_{step['id']}", None)
            if act is not None:
                await act(step, answers)

    async def do_trigger(self, step: Json, answers: Json) -> None:
        assert step["fill"] == ["triggers"]
        self.draft["triggers"] = [answers["when"]]

    async def do_writes(self, step: Json, answers: Json) -> None:
        assert {"writes_to_boards", "dedupe_key_field"} <= set(step["fill"])
        self.draft["writes_to_boards"] = answers["writes"]
        self.draft["dedupe_key_field"] = answers["dedupe"]

    async def do_overlap(self, step: Json, answers: Json) -> None:
        del answers
        found = await _call(
            self.client,
            step["call"]["tool"],
            writes_to_boards=[self.board],
            trigger_kind="cron",
            intent=self.begun["purpose_hint"],
        )
        assert (found["count"], found["strict_count"]) == (0, 0)

    async def do_egress(self, step: Json, answers: Json) -> None:
        del answers
        assert step["ask"][0]["expects"] == "yes, approve http_fetch"

    async def do_caps(self, step: Json, answers: Json) -> None:
        assert answers["caps"].keys() <= set(step["fill"])
        self.draft |= answers["caps"]

    async def do_review(self, step: Json, answers: Json) -> None:
        assert (step["fill"], answers["review"]) == (["source"], "yes")
        source, grants = _script(self.begun["playbook"], self.names)
        self.draft |= {"source": source, "tool_grants": grants}

    async def do_save(self, step: Json, answers: Json) -> None:
        del answers
        tool, key = step["call"]["tool"], "log-invoices"
        self.saved = await _call(self.client, tool, **self.draft, idempotency_key=key)
        assert await _call(self.client, tool, **self.draft, idempotency_key=key) == self.saved

    async def do_smoke_test(self, step: Json, answers: Json) -> None:
        del answers
        asked = {"automation_id": self.saved["automation_id"], **step["call"]["arguments"]}
        self.dry = await _call(self.client, step["call"]["tool"], **asked)


async def _followed(
    server: Started, client: Client
) -> tuple[Follower, list[Json], list[Json], Json]:
    for number in range(3):
        await _call(
            client, "create_page", type="note", title=f"Invoice {number}", body="An invoice."
        )
    board = (await _call(client, "create_board", name="Finance"))["id"]
    begun = await _call(
        client, "create_automation_flow", purpose_hint="Log every invoice to the finance board"
    )
    follower = Follower(client, board, begun)
    await follower.follow()
    assert "dedupe" in follower.person.asked
    one = follower.saved["automation_id"]
    # What the client wrote waits for a person.
    await asyncio.to_thread(server.agree, one)
    runs = [
        await _call(client, "run_automation_once", automation_id=one, dry_run=False)
        for _ in range(2)
    ]
    shown = await _call(client, "get_board", board_id=board)
    active = await _call(client, "update_automation", automation_id=one, state="active")
    return follower, runs, shown["data"]["datasets"]["default"]["rows"], active


def test_a_playbook_leads_to_a_paused_automation_that_passes_its_smoke_test(
    server: Started,
) -> None:
    token = (server.mainspring.home / "owner.token").read_text().strip()

    async def tour() -> tuple[Follower, list[Json], list[Json], Json]:
        async with connected(server.address, token) as client:
            return await _followed(server, client)

    follower, (first, second), rows, active = asyncio.run(tour())

    saved, dry = follower.saved, follower.dry
    one = saved["automation_id"]
    assert (saved["state"], saved["version"]) == ("paused", 1)
    assert saved["admin_url"].endswith(f"/automations/{one}")
    assert (dry["status"], dry["exit_code"]) == ("succeeded", 0), dry
    assert [call["capability"] for call in dry["suppressed"]] == ["append_board_rows"]
    assert (first["status"], first["suppressed"]) == ("succeeded", []), first
    assert first["stdout"] == "3 appended, 0 there already\n"
    assert second["stdout"] == "nothing new among 3\n"
    assert len(rows) == len({row["page_id"] for row in rows}) == 3
    assert active["state"] == "active"

    stored = server.get(f"/automations/{one}")
    assert stored["state"] == "active"
    assert stored["next_due_at"] is not None
    assert stored["definition"]["plan"][0]["config"]["source"] == follower.draft["source"]
    assert stored["definition"]["execution"]["cost_cap_daily_usd"] == "0.5"


def test_the_tools_have_the_parameters_that_were_promised(server: Started) -> None:
    token = (server.mainspring.home / "owner.token").read_text().strip()
    promised = {
        "create_automation_flow": {"purpose_hint"},
        "save_automation_draft": {
            "name",
            "source",
            "triggers",
            "tool_grants",
            "description",
            "intent",
            "cost_cap_daily_usd",
            "max_wall_seconds",
            "max_llm_tokens",
            "model",
            "writes_to_boards",
            "dedupe_key_field",
            "dedupe_target_field",
            "acknowledged_overlap",
            "coexistence_note",
            "acknowledged_http_fetch_hosts",
        },
        "update_automation": {
            "automation_id",
            "source",
            "tool_grants",
            "triggers",
            "cost_cap_daily_usd",
            "max_wall_seconds",
            "max_llm_tokens",
            "acknowledged_http_fetch_hosts",
            "state",
            "active_version_id",
            "write_policy",
            "name",
            "description",
            "intent",
            "model",
        },
        "run_automation_once": {"automation_id", "dry_run", "verify_mode", "wait_seconds"},
        "delete_automation": {"automation_id"},
        "find_overlapping_automations": {
            "writes_to_boards",
            "dedupe_target_field",
            "trigger_kind",
            "intent",
        },
    }

    async def tour() -> dict[str, Json]:
        found: dict[str, Json] = {}
        async with connected(server.address, token) as client:
            cursor: str | None = None
            while True:
                page = await client.list_tools(cursor=cursor)
                found |= {tool.name: tool.input_schema for tool in page.tools}
                cursor = page.next_cursor
                if cursor is None:
                    return found

    tools = asyncio.run(tour())
    for name, parameters in promised.items():
        assert parameters <= tools[name]["properties"].keys(), name
    save = tools["save_automation_draft"]["properties"]
    assert {name: one["default"] for name, one in save.items() if "default" in one} == {
        "cost_cap_daily_usd": 1,
        "max_wall_seconds": 60,
        "max_llm_tokens": 200_000,
        "model": "claude-sonnet-4-6",
    }
