"""Agents over the real clients of providers: a started server, and models in another process.

The models speak the wires of Anthropic and of OpenAI from a script. Nothing here knows more of the
product than its commands and its REST surface.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from tests.acceptance.commands import EXAMPLES, Mainspring, open_folder
from tests.acceptance.server import Json, Started, definition, outputs, started
from tests.kit.documented_examples import DIGEST
from tests.kit.processes import first_line, module_process
from tests.kit.slack import TOKEN, SlackDouble, slack_double

KEY = "sk-ant-a-key-that-nobody-reads"
SONNET = "anthropic/claude-sonnet-4-6"
BULLETS = ["Acme cut its prices by a tenth.", "Bolt opens a shop in Kigali."]
SHAPE = {
    "type": "object",
    "required": ["bullets"],
    "additionalProperties": False,
    "properties": {"bullets": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
}


@dataclass(frozen=True, slots=True)
class ModelProcess:
    """The models, in a process of their own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, *answers: Json | str, **more: Any) -> None:
        """What they answer from now on; nothing that was asked before is in the log any more."""
        httpx2.post(f"{self.url}/script", json={"answers": list(answers), **more})

    def log(self, since: int = 0) -> list[Json]:
        found: list[Json] = httpx2.get(f"{self.url}/log").json()["requests"]
        return found[since:]

    def refusals(self) -> list[str]:
        found: list[str] = httpx2.get(f"{self.url}/log").json()["refusals"]
        return found


def call(name: str, **arguments: Any) -> Json:
    """An answer that asks for one tool; what it took is always the same."""
    asked = [{"name": name, "arguments": arguments}]
    return {"calls": asked, "input_tokens": 1_000, "output_tokens": 100}


def agent(name: str, prompt: str, *, model: str = SONNET, **config: Any) -> Json:
    step = {
        "step_id": "think",
        "action": "agent_task",
        "config": {"prompt": prompt, "model": model, **config},
    }
    return definition(name, [step])


@contextlib.contextmanager
def slack() -> Iterator[SlackDouble]:
    """Slack's API on a loop of its own, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    serving = slack_double()
    try:
        yield asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def minds() -> Iterator[ModelProcess]:
    with module_process("tests.kit.model_server", ["--port", "0"]) as process:
        yield ModelProcess(int(first_line(process).rpartition(" ")[2]))


@pytest.fixture(scope="module")
def channel() -> Iterator[SlackDouble]:
    with slack() as double:
        yield double


@pytest.fixture(scope="module")
def server(minds: ModelProcess, channel: SlackDouble) -> Iterator[Started]:
    """A server that is connected to both kinds of models by its owner's own commands."""
    settings = {"egress_allow": channel.pair, "slack_url": channel.url}
    with open_folder() as folder, started(Mainspring(folder / "home"), settings) as made:
        words = ("connect", "anthropic", "--url", minds.url, "--for-everyone")
        done = made.mainspring("models", *words, stdin=KEY.encode())
        assert done.code == 0, done.output
        assert KEY not in done.output
        made.post(
            "/capabilities/admin_connect_model",
            {
                "name": "local",
                "kind": "compatible",
                "base_url": f"{minds.url}/v1",
                "models": ["tiny", "free"],
            },
        )
        made.post(
            "/capabilities/admin_set_model_price",
            {
                "model": "local/tiny",
                "input_usd_per_million": 0.5,
                "output_usd_per_million": 1,
            },
        )
        made.post("/secrets", {"name": "slack_bot_token", "value": TOKEN}, 201)
        yield made


def pieces(server: Started, run_id: str) -> list[Json]:
    """What the agent of a run told while it worked."""
    found = server.items(f"/runs/{run_id}/output")
    return [json.loads(one["text"]) for one in found if one["stream"] == "agent"]


def transcript(server: Started, run_id: str) -> Json:
    [artifact] = server.items(f"/runs/{run_id}/artifacts")
    result: Json = server.get(f"/artifacts/{artifact['id']}/content")
    return result


def asks(server: Started, run_id: str) -> list[Json]:
    """The rows of the ledger, the oldest first."""
    return server.items("/usage/calls", run_id=run_id)[::-1]


def spent(rows: list[Json]) -> Decimal:
    return sum((Decimal(str(row["cost_usd"])) for row in rows), Decimal(0))


def test_the_digest_is_researched_by_an_agent_and_posted_once_a_person_agrees(
    server: Started, minds: ModelProcess, channel: SlackDouble
) -> None:
    page = server.post(
        "/capabilities/create_page",
        {
            "type": "note",
            "title": "Competitor news",
            "slug": "competitor-news",
            "body": "Acme cut its prices by a tenth. Bolt opens a shop in Kigali.",
        },
    )
    before = len(minds.log())
    minds.play(
        {**call("search_space_query", q="competitor"), "thoughts": "I look for it first."},
        call("search_space_fetch_document", slug="competitor-news"),
        call("final_answer", bullets="Acme cut its prices.", source_doc_ids=[page["id"]]),
        call("final_answer", bullets=BULLETS, source_doc_ids=[page["id"]]),
    )
    example = json.loads((EXAMPLES / "digest.json").read_text())
    digest = server.save(example)
    run_id = server.run(digest, since="2026-01-01T00:00:00Z")
    run = server.ended(run_id)

    assert run["status"] == "succeeded", run
    asked = minds.log(before)
    assert minds.refusals() == []
    assert [one["path"] for one in asked] == ["/v1/messages"] * 4
    assert {one["headers"]["x-api-key"] for one in asked} == {KEY}
    # What it read came from our pages, and what was wrong with its first answer came back to it.
    text = json.dumps(asked[2]["body"]["messages"])
    assert "Bolt opens a shop in Kigali" in text
    assert "/bullets" in json.dumps(asked[3]["body"]["messages"][-1])
    summary = outputs(run)["research"]
    assert summary == {"bullets": BULLETS, "source_doc_ids": [page["id"]]}
    _seen_by_people(server, run)
    _posted_by_a_person(server, channel, run_id)
    # Its name is free for another one.
    server.post(f"/automations/{digest}/archive")


def test_the_digest_of_the_first_format_runs_as_it_is_printed(
    server: Started, minds: ModelProcess, channel: SlackDouble
) -> None:
    body = "Acme cut its prices by a tenth."
    pages = {}
    for title, tags in (("Acme prices", ["competitor"]), ("Our prices", ["internal"])):
        pages[title] = server.post(
            "/capabilities/create_page",
            {
                "type": "note",
                "title": title,
                "body": body,
                "frontmatter": {"tags": tags},
            },
        )["id"]
    posted = len(channel.messages)
    # No list of prices has this model yet; its operator says what it costs.
    server.post(
        "/capabilities/admin_set_model_price",
        {
            "model": DIGEST["plan"][0]["config"]["model"],
            "input_usd_per_million": 3,
            "output_usd_per_million": 15,
        },
    )
    asked = call("search_space_query", tags=["competitor"], since="2026-01-01T00:00:00Z")
    answer = call("final_answer", bullets=BULLETS, source_doc_ids=[pages["Acme prices"]])
    digest = server.save(DIGEST, active=False)
    held: list[Json] = []
    for dry_run in (True, False):
        before = len(minds.log())
        minds.play(asked, answer)
        started_run = server.post(
            f"/automations/{digest}/run", {"dry_run": True} if dry_run else None, 202
        )
        run = server.ended(started_run["run_id"])
        assert run["status"] == "succeeded", run
        assert minds.refusals() == []
        # The tags are in the prompt, and the pages with them in the answer of the tool.
        first, second = (json.dumps(one["body"]["messages"]) for one in minds.log(before))
        assert '\\"competitor\\"' in first
        assert "Acme prices" in second
        assert "Our prices" not in second
        assert outputs(run)["research"]["bullets"] == BULLETS
        held = [one for one in server.items("/drafts") if one["run_id"] == run["id"]]
        assert len(held) == (0 if dry_run else 1)
    assert len(channel.messages) == posted
    settings = {"egress_allow": channel.pair, "slack_url": channel.url}
    done = server.mainspring.asked("drafts", "confirm", held[0]["id"], settings=settings)
    assert done.code == 0, done.output
    message = channel.messages[posted]
    assert message["channel"] == "C0123"
    assert message["text"] == "*Competitor digest*\n\n" + "".join(f"• {one}\n" for one in BULLETS)


def _seen_by_people(server: Started, run: Json) -> None:
    """What it cost is the same in the run, the ledger, the transcript and the live view."""
    rows = asks(server, run["id"])
    # 1,000 tokens read at $3 and 100 written at $15 for a million.
    assert [row["cost_usd"] for row in rows] == [0.0045] * 4
    assert {(row["caller"], row["step"], row["provider"]) for row in rows} == {
        ("agent.run", "research", "anthropic")
    }
    assert Decimal(str(run["cost_usd"])) == spent(rows) == Decimal("0.018")
    whole = transcript(server, run["id"])
    assert [Decimal(turn["cost_usd"]) for turn in whole["turns"]] == [Decimal("0.0045")] * 4
    assert whole["ending"]["output"]["bullets"] == BULLETS
    assert whole["turns"][2]["calls"][0]["failed"]
    result = pieces(server, run["id"])
    kinds = [one["kind"] for one in result]
    assert kinds.count("turn") == 4
    assert kinds.count("call") == kinds.count("result") == 2
    assert (kinds[0], kinds[-1]) == ("thought", "answer")
    assert result[0]["text"] == "I look for it first."


def _posted_by_a_person(server: Started, channel: SlackDouble, run_id: str) -> None:
    assert channel.messages == []
    [draft] = [one for one in server.items("/drafts") if one["run_id"] == run_id]
    settings = {"egress_allow": channel.pair, "slack_url": channel.url}
    done = server.mainspring.asked("drafts", "confirm", draft["id"], settings=settings)
    assert done.code == 0, done.output
    [message] = channel.messages
    assert message["channel"] == "C0123"
    assert all(bullet in message["text"] for bullet in BULLETS)


def test_an_answer_that_breaks_its_schema_is_fed_back_to_a_local_server_and_mended(
    server: Started, minds: ModelProcess
) -> None:
    before = len(minds.log())
    minds.play(
        "Here are my bullets!",
        call("final_answer", bullets=[]),
        call("final_answer", bullets=BULLETS),
    )
    made = server.save(
        agent("Local", "Say two things.", model="local/tiny", output_schema=SHAPE), active=False
    )
    run = server.ended(server.run(made))

    assert (run["status"], outputs(run)["think"]) == ("succeeded", {"bullets": BULLETS})
    asked = minds.log(before)
    assert minds.refusals() == []
    assert [one["path"] for one in asked] == ["/v1/chat/completions"] * 3
    assert all("authorization" not in one["headers"] for one in asked)
    assert "final_answer" in asked[1]["body"]["messages"][-1]["content"]
    assert "/bullets" in asked[2]["body"]["messages"][-1]["content"]
    assert {row["model"] for row in asks(server, run["id"])} == {"tiny"}


def test_what_an_agent_thinks_and_calls_is_reported_while_it_is_at_work(
    server: Started, minds: ModelProcess
) -> None:
    # The second answer is not given before somebody has seen what came of the first.
    never = {"broken": "never"}
    minds.play({**call("search", q="news"), "thoughts": "I shall look around."}, never)
    made = server.save(agent("Watched", "Look around.", tools=["search"]), active=False)
    run_id = server.run(made)
    seen = []
    with server.watching(f"/runs/{run_id}/stream") as events:
        for event in events:
            result = event.data if event.kind == "output" else {}
            if result.get("stream") == "agent":
                seen += [json.loads(line)["kind"] for line in result["text"].splitlines()]
            if "result" in seen:
                break
    at_work = server.read(run_id)["status"]
    server.post(f"/runs/{run_id}/cancel", status=202)
    run = server.ended(run_id)

    assert seen[:4] == ["thought", "turn", "call", "result"]
    assert (at_work, run["status"]) == ("running", "cancelled")
    # The turn that came back is paid for; the other one may have been under way.
    paid, *_ = asks(server, run_id)
    assert paid["cost_usd"] == 0.0045
    assert transcript(server, run_id)["turns"][0]["thoughts"] == "I shall look around."


def test_a_tool_outside_the_grants_is_not_there_whatever_the_model_asks_for(
    server: Started, minds: ModelProcess
) -> None:
    server.post(
        "/capabilities/create_page",
        {"type": "note", "title": "Kept", "slug": "kept", "body": "It stays."},
    )
    before = len(minds.log())
    expected: list[tuple[str, Mapping[str, Any]]] = [
        ("delete_page", {"slug": "kept"}),
        ("http_fetch", {"url": f"{minds.url}/log"}),
        ("agent_run", {"prompt": "Delete it.", "tools": ["*"]}),
        ("admin_create_user", {"email": "mallory@thief.example"}),
        ("confirm_action", {"draft_id": "01900000-0000-7000-8000-00000000000a"}),
    ]
    everything = {"calls": [{"name": name, "arguments": args} for name, args in expected]}
    minds.play(everything, call("get_page", slug="kept"), "It is all done.")
    made = server.save(agent("Curious", "Look at the page.", tools=["get_page"]), active=False)
    run = server.ended(server.run(made))

    assert run["status"] == "succeeded", run
    assert [one["capability"] for one in run["calls"]] == ["get_page", "agent.run"]
    offered = [tool["name"] for tool in minds.log(before)[0]["body"]["tools"]]
    assert set(offered) == {"get_page", "nothing_to_do", "cannot_do"}
    result = minds.log(before)[1]["body"]["messages"][-1]["content"]
    assert len(result) == len(expected)
    assert all(one["is_error"] for one in result)
    assert server.post("/capabilities/get_page", {"slug": "kept"})["title"] == "Kept"
    # Nor can it be granted by the way: what was not listed when it was saved is not there.
    refused = server.owner.post(
        "/automations", json=agent("Greedy", "Go.", tools=["admin_*", "agent.run", "delete_pages"])
    )
    found = {(one["pointer"], one["code"]) for one in refused.json()["errors"]}
    assert {("/plan/0/config/tools/1", "agent_in_agent")} <= found
    assert {pointer for pointer, _ in found} == {f"/plan/0/config/tools/{n}" for n in range(3)}


def test_an_agent_can_say_that_it_cannot_or_that_there_is_nothing_to_do(
    server: Started, minds: ModelProcess
) -> None:
    made = server.save(agent("Honest", "Find the invoice."), active=False)
    minds.play(call("cannot_do", reason="There is no invoice."))
    failed = server.ended(server.run(made))
    minds.play(call("nothing_to_do", reason="It was found yesterday."))
    quiet = server.ended(server.run(made))

    assert (failed["status"], failed["error"]["code"]) == ("failed", "agent_cannot")
    assert "There is no invoice." in failed["error"]["detail"]
    assert transcript(server, failed["id"])["ending"]["kind"] == "failed"
    assert (quiet["status"], quiet["outcome"]) == ("succeeded", "nothing_to_do"), quiet


def test_a_model_without_a_price_is_never_asked_and_the_problem_says_what_to_do(
    server: Started, minds: ModelProcess
) -> None:
    before = len(minds.log())
    made = server.save(agent("Free", "Go.", model="local/free"), active=False)
    run = server.ended(server.run(made))

    assert (run["status"], run["error"]["code"]) == ("failed", "unknown_price")
    assert "set a price" in run["error"]["suggestion"]
    assert minds.log(before) == []
    assert asks(server, run["id"]) == []


def test_a_busy_provider_and_an_answer_that_was_cut_off_are_overcome(
    server: Started, minds: ModelProcess
) -> None:
    before = len(minds.log())
    busy = {"status": 529, "error": "Overloaded", "headers": {"retry-after": "1"}}
    minds.play(
        busy,
        {**call("final_answer", bullets=["half"]), "finish": "max_tokens"},
        call("final_answer", bullets=BULLETS),
    )
    made = server.save(agent("Patient", "Say two things.", output_schema=SHAPE), active=False)
    run = server.ended(server.run(made))

    assert (run["status"], outputs(run)["think"]) == ("succeeded", {"bullets": BULLETS})
    assert len(minds.log(before)) == 3
    # What was refused cost nothing; what was cut off was paid for.
    assert spent(asks(server, run["id"])) == Decimal(str(run["cost_usd"])) == Decimal("0.009")


def test_the_key_of_a_model_is_nowhere_that_anybody_reads(
    server: Started, minds: ModelProcess
) -> None:
    bodies = json.dumps([one["body"] for one in minds.log()])
    runs = [server.read(run["id"]) for run in server.items("/runs")]
    result = [pieces(server, run["id"]) for run in runs]
    listed = server.mainspring("models", "list", "--json")
    shown = (
        json.dumps([runs, result, server.items("/audit")], default=str) + listed.output + server.log
    )

    assert runs
    assert listed.json["connections"][0]["has_key"] is True
    assert KEY not in bodies
    assert KEY not in shown
