"""Living with runs: now, no more, once more, from where it broke, and watched all the way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.acceptance.commands import Mainspring, step
from tests.acceptance.loopback_servers import Web
from tests.acceptance.server import (
    SOON,
    Json,
    Sent,
    Started,
    definition,
    outputs,
    problem,
    statuses,
    trigger,
)
from tests.acceptance.stories.conftest import World
from tests.kit.processes import wait_until

WHO = {"schema": {"type": "object", "properties": {"who": {"type": "string", "default": "you"}}}}


def greeting(name: str, text: str = "Hello") -> Json:
    output = step("greet", "transform_data", output=f"{text}, {{{{ inputs.who }}}}")
    return definition(name, [output], inputs=WHO)


def fetching(name: str, url: str, **more: Any) -> Json:
    """A step before, one that asks the web, and a step after."""
    plan = [
        step("before", "transform_data", output=1),
        step("ask", "http_fetch", url=url, timeout_seconds=60),
        step("after", "transform_data", output="{{ steps.ask.status }}"),
    ]
    return definition(name, plan, **more)


@pytest.fixture(scope="module", autouse=True)
def long_run(server: Started, world: World) -> str:
    """A run that is under way from the first of these tests to the last."""
    return server.run(server.save(fetching("Long", world.web.url("/held/long"))))


# --- now


def test_a_paused_automation_can_still_be_run_manually(server: Started) -> None:
    made = server.save(greeting("By hand"), active=False)
    body = {"inputs": {"who": "Ada"}, "idempotency_key": "once"}

    first = server.post(f"/automations/{made}/run", body, 202)
    again = server.post(f"/automations/{made}/run", body, 202)
    wrong = server.owner.post(f"/automations/{made}/run", json={"inputs": {"who": 7}})

    assert first["run_id"] == again["run_id"]
    run = server.ended(first["run_id"])
    assert (run["status"], run["trigger_type"]) == ("succeeded", "manual")
    assert outputs(run) == {"greet": "Hello, Ada"}
    (finding,) = problem(wrong, 422)["errors"]
    assert finding["pointer"] == "/inputs/who"
    assert len(server.runs(made)) == 1


def test_the_command_line_runs_an_automation_on_the_server(
    server: Started, mainspring: Mainspring, pages: Web
) -> None:
    made = server.save(greeting("From the shell"))
    broken = server.save(fetching("From the shell, broken", pages.url("/mood")))
    pages.mood = 404

    good = mainspring("fire", "From the shell", "--input", "who=Grace", "--wait", "--json")
    bad = mainspring("fire", "From the shell, broken", "--wait", "--json")

    assert good.code == 0, good.output
    assert bad.code == 1, bad.output
    assert [run["id"] for run in server.runs(made)] == [good.json["id"]]
    assert outputs(server.read(good.json["id"])) == {"greet": "Hello, Grace"}
    assert [run["id"] for run in server.runs(broken)] == [bad.json["id"]]
    assert server.read(bad.json["id"])["error"]["failed_step_id"] == "ask"


# --- no more


def test_cancelling_ends_a_long_delay_at_once(server: Started) -> None:
    plan = [step("sleep", "delay", seconds=3600), step("after", "transform_data", output=1)]
    made = server.save(definition("Sleeper", plan))
    run_id = server.run(made)
    server.until(run_id, "waiting")

    answer = server.post(f"/runs/{run_id}/cancel", None, 202)

    assert answer["status"] == "cancelled"
    run = server.read(run_id)
    assert run["status"] == "cancelled"
    assert "after" not in outputs(run)
    assert problem(server.owner.post(f"/runs/{run_id}/cancel"), 409)["code"] == "run_ended"


def test_cancelling_really_ends_a_request_that_is_under_way(
    server: Started, mainspring: Mainspring, pages: Web
) -> None:
    made = server.save(fetching("Patient", pages.url("/slow/cancelled")))
    run_id = server.run(made)
    wait_until(lambda: "/slow/cancelled" in pages.asked, SOON, "the request")
    assert pages.left == []

    ended = mainspring("cancel", run_id, "--json")

    assert ended.code == 0, ended.output
    wait_until(lambda: pages.left == ["/slow/cancelled"], SOON, "the end of the connection")
    run = server.ended(run_id)
    assert run["status"] == "cancelled"
    assert ("before", "succeeded") in statuses(run)
    assert "after" not in outputs(run)
    assert pages.asked.count("/slow/cancelled") == 1


# --- once more


def test_a_replay_has_the_version_of_then_or_of_now(
    server: Started, mainspring: Mainspring
) -> None:
    made = server.save(greeting("Replayed"))
    first = server.ended(server.run(made, who="Ada"))
    server.owner.put(f"/automations/{made}", json=greeting("Replayed", "Good day"))

    same = server.post(f"/runs/{first['id']}/replay", {}, 202)["run_id"]
    active = mainspring("replay", first["id"], "--version", "active", "--wait", "--json")

    assert active.code == 0, active.output
    runs = [server.ended(run_id) for run_id in (same, active.json["id"])]
    assert [run["version"] for run in runs] == [1, 2]
    assert [outputs(run)["greet"] for run in runs] == ["Hello, Ada", "Good day, Ada"]
    assert {run["replay_of"] for run in runs} == {first["id"]}


def test_a_retry_goes_on_from_the_step_that_failed(server: Started, pages: Web) -> None:
    made = server.save(fetching("Retried", pages.url("/mood/retried")))
    pages.mood = 404
    broken = server.ended(server.run(made))
    assert broken["status"] == "failed"
    assert "retry" in broken["story"]["next"]

    pages.mood = 200
    server.post(f"/runs/{broken['id']}/retry", None, 202)
    mended = server.ended(broken["id"])

    assert mended["status"] == "succeeded"
    assert mended["attempt"] == 2
    assert statuses(mended) == [
        ("before", "succeeded"),
        ("ask", "failed"),
        ("ask", "succeeded"),
        ("after", "succeeded"),
    ]
    assert pages.asked.count("/mood/retried") == 2
    again = server.owner.post(f"/runs/{broken['id']}/retry")
    assert problem(again, 409)["code"] == "not_retryable"
    assert len(server.runs(made)) == 1


# --- as it was before


def test_a_rollback_brings_an_earlier_version_back_and_leaves_runs_alone(
    server: Started, mainspring: Mainspring, pages: Web
) -> None:
    before = fetching("Rolled back", pages.url("/held/rollback"))
    made = server.save(before)
    under_way = server.run(made)
    wait_until(lambda: "/held/rollback" in pages.asked, SOON, "a run under way")
    after = {**before, "plan": [before["plan"][0]]}
    second = server.owner.put(f"/automations/{made}", json=after, headers={"If-Match": '"1"'})
    assert second.json()["version"] == 2
    stale = server.owner.put(f"/automations/{made}", json=before, headers={"If-Match": '"1"'})
    assert problem(stale, 409)["code"] == "version_changed"

    changes = server.get(f"/automations/{made}/diff", **{"from": 1, "to": 2})
    back = mainspring.asked("rollback", "Rolled back", "1")
    pages.let_go("/held/rollback")

    assert {(change["op"], change["pointer"]) for change in changes["changes"]} == {
        ("remove", "/plan/1"),
        ("remove", "/plan/2"),
    }
    assert [grant["capability"] for grant in changes["narrowed"]] == ["http_fetch"]
    assert back.code == 0, back.output
    third, second_one, first = server.items(f"/automations/{made}/versions")
    assert (third["version"], third["rollback_of"], third["in_force"]) == (3, 1, True)
    assert third["definition_hash"] == first["definition_hash"] != second_one["definition_hash"]
    old = server.ended(under_way)
    assert (old["version"], old["status"]) == (1, "succeeded")
    assert outputs(old)["after"] == 200
    assert server.ended(server.run(made))["version"] == 3


# --- watched


def test_a_run_is_watched_from_waiting_in_line_to_its_end(server: Started, pages: Web) -> None:
    made = server.save(fetching("Watched", pages.url("/held/watched")))
    server.run(made)
    wait_until(lambda: "/held/watched" in pages.asked, SOON, "the run before")
    second = server.run(made)

    with server.watching(f"/runs/{second}/stream") as events:
        result = [next(events)]
        assert (result[0].kind, result[0].data["status"]) == ("run", "pending")
        pages.let_go("/held/watched")
        result += events

    assert result[-1].kind == "end"
    assert result[-1].data["status"] == "succeeded"
    assert result[-1].data["story"]["headline"]
    assert told_steps(result) == ["before", "ask", "after"]
    assert all(sent.kind in {"run", "step", "end"} for sent in result)

    seen = next(sent for sent in result if sent.kind == "step")
    with server.watching(f"/runs/{second}/stream", seen.id) as events:
        rest = list(events)
    assert told_steps(rest) == ["ask", "after"]
    assert rest[-1].kind == "end"


def test_the_workspace_is_watched_and_what_happened_meanwhile_is_reported(
    server: Started, pages: Web, long_run: str
) -> None:
    by_hand = server.save(greeting("Seen by hand"))
    hooked = server.save(
        definition(
            "Seen by webhook",
            [step("see", "transform_data", output=1)],
            [trigger("hook", "webhook")],
        )
    )
    follow = trigger(
        "next",
        "event",
        event_type="automation.run.succeeded",
        filters={"automation_name": "Seen by webhook"},
    )
    chained = server.save(
        definition("Seen by event", [step("see", "transform_data", output=1)], [follow])
    )

    with server.watching("/stream") as events:
        first = server.run(by_hand)
        server.fire(hooked, server.token(hooked, "hook"), {})
        entries: list[Sent] = []
        while not {by_hand, hooked, chained} <= succeeded(entries):
            entries.append(next(events))
    assert first in {sent.data["id"] for sent in entries if sent.kind == "run"}

    # Old enough that nothing but the id of the last event says that its end is news.
    wait_until(lambda: age(server.read(long_run)) > 12, SOON, "a run of some age")
    pages.let_go("/held/long")
    away = {server.ended(long_run)["id"], server.ended(server.run(by_hand))["id"]}
    with server.watching("/stream", entries[-1].id) as events:
        while away:
            sent = next(sent for sent in events if sent.kind == "run")
            assert sent.data["id"] not in away or sent.data["status"] == "succeeded"
            away -= {sent.data["id"]}


def age(run: Json) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(run["created_at"])).total_seconds()


def told_steps(entries: list[Sent]) -> list[str]:
    return [sent.data["step"] for sent in entries if sent.kind == "step"]


def succeeded(entries: list[Sent]) -> set[str]:
    runs = [sent.data for sent in entries if sent.kind == "run"]
    return {run["automation_id"] for run in runs if run["status"] == "succeeded"}
