"""Trying things out: dry runs, verify mode, and the policy for outside writes."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.policy import Mode, mode_of
from mainspring.runs.story import summarize_run
from mainspring.store.events import EventTable
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.events import republish
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.events import listen, match_all
from tests.kit.gate import Market, gate_bench
from tests.kit.mail import MailServerDouble, mail_server

PLAN = [
    step("read", "test.echo", {"x": 1}),
    step("keep", "test.keep", {"mark": "a", "password": "pa55word"}),
    step("stubbed", "test.stubbed", {"mark": "b"}),
    step("cursor", "automation_kv.set", {"key": "seen", "value": 1}),
    step("send", "test.note", {"mark": "c"}),
    step("mail", "test.mail", {"mark": "d", "password": "pa55word"}),
]
OWNER = "owner@example.com"


async def _counts(bench: Bench) -> tuple[int, int, int]:
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM drafts) AS drafts, "
        "(SELECT count(*) FROM automation_kv) AS kv"
    )
    assert row is not None
    return row["events"], row["drafts"], row["kv"]


async def test_a_dry_run_changes_nothing_and_says_what_it_would_have_done(bench: Bench) -> None:
    market = Market()
    async with gate_bench(bench, market) as open_one:
        run = await open_one.run(document(*PLAN), mode="dry_run")
    assert (run["status"], run["mode"], run["outcome"]) == ("succeeded", "dry_run", "answer_only")
    outcomes = [call["outcome"] for call in run["calls"]]
    assert outcomes == ["read", *["pretended"] * 5], run["calls"]
    assert (market.notes, dict(bench.outside.keys)) == ([], {})
    assert await _counts(bench) == (0, 0, 0)
    assert (run["effects"], run["drafts"]) == (0, 0)
    outputs = {row["step"]: row["output"] for row in run["steps"]}
    assert outputs["keep"] == {"id": "sample", "kind": "suppressed"}
    assert outputs["stubbed"] == {"id": "b", "kind": "suppressed"}
    story = summarize_run(run)
    assert story["trial"].startswith("Dry run: nothing was changed")
    assert "5 calls were simulated" in story["trial"]
    assert [one["capability"] for one in story["suppressed"]] == [
        "test.keep",
        "test.stubbed",
        "automation_kv.set",
        "test.note",
        "test.mail",
    ]
    assert story["suppressed"][0]["arguments"] == {"mark": "a", "password": "[hidden]"}


async def test_verify_mode_keeps_what_the_workspace_keeps_and_sends_nothing(bench: Bench) -> None:
    market = Market()
    async with gate_bench(bench, market) as open_one:
        run = await open_one.run(document(*PLAN), mode="verify")
    outcomes = [call["outcome"] for call in run["calls"]]
    assert outcomes == ["read", "kept", "kept", "kept", "pretended", "pretended"]
    assert (len(market.notes), dict(bench.outside.keys)) == (2, {})
    assert await _counts(bench) == (0, 0, 1)
    assert "2 calls were simulated." in summarize_run(run)["trial"]


async def test_what_a_trial_causes_is_part_of_the_trial_over_any_number_of_hops(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    append = step("keep", "append_board_rows", {"board_id": board, "rows": [{"name": "Ada"}]})
    second = document(
        step("send", "test.note", {"mark": "b"}),
        step("tell", "publish_event", {"type": "hop.made"}),
        name="second",
        triggers=[{"id": "t", "type": "board_change", "config": {"board_id": board}}],
    )
    await listen(bench, "third", "hop.made", None, step("send", "test.note", {"mark": "c"}))
    saved = await bench.save(second)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    first = await bench.run(document(append, name="first"), mode="verify")
    caused, causes = [], [first]
    for _ in range(2):
        await match_all(bench.application)
        row = await bench.application.database.fetchrow(
            "SELECT id FROM runs WHERE parent_id = $1", causes[-1]["id"]
        )
        assert row is not None
        async with bench.worker():
            causes.append(await bench.until(row["id"]))
        caused.append(causes[-1])
    assert [(one["automation"], one["mode"], one["status"]) for one in caused] == [
        ("second", "verify", "succeeded"),
        ("third", "verify", "succeeded"),
    ]
    assert not bench.outside.keys
    for one, cause in zip(caused, causes, strict=False):
        assert f"It was started by run {cause['id']}" in summarize_run(one)["trial"]
    fired = await bench.application.database.fetch("SELECT last_fired_at FROM triggers")
    assert [row["last_fired_at"] for row in fired] == [None, None]
    # Told once more by a person, what a trial told of is still the trial's.
    (told,) = await bench.application.database.fetch(
        "SELECT id FROM events WHERE type = 'hop.made'"
    )
    async with bench.application.database.transaction() as tx:
        log = EventTable(bench.application.limits)
        await republish(tx, await log.one(tx, bench.application.workspace_id, told["id"]))
    await match_all(bench.application)
    rows = await bench.application.database.fetch("SELECT mode FROM runs")
    assert [row["mode"] for row in rows] == ["verify"] * 4


async def test_a_live_run_has_nothing_suppressed_and_tells_of_its_end(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as open_one:
        run = await open_one.run(document(*PLAN))
    assert (run["mode"], run["effects"], run["drafts"]) == ("live", 4, 1)
    assert "trial" not in summarize_run(run)
    assert await _counts(bench) == (1, 1, 1)


@pytest.mark.parametrize(
    ("dry_run", "verify", "mode"),
    [
        (False, False, "live"),
        (False, True, "verify"),
        (True, False, "dry_run"),
        (True, True, "dry_run"),
    ],
)
def test_who_asks_for_both_gets_a_dry_run(dry_run: bool, verify: bool, mode: Mode) -> None:
    assert mode_of(dry_run=dry_run, verify=verify) == mode


async def test_a_trial_that_fails_alarms_nobody_and_is_no_run_of_the_overview(
    bench: Bench,
) -> None:
    bad = document(step("a", "test.flaky", {"failures": 9, "permanent": True}, max_retries=0))
    run = await bench.run(bad, mode="dry_run")
    assert run["status"] == "failed"
    assert await _counts(bench) == (0, 0, 0)
    async with served(bench.application) as api:
        one = (await api.client.get(f"/api/v1/automations/{run['automation_id']}")).json()
    assert one["last_run"] is None
    assert one["failures"] == 0


async def _asked(api: Api, bench: Bench, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await api.client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    run = await bench.until(answer.json()["run_id"])
    shown = (await api.client.get(f"/api/v1/runs/{run['id']}")).json()
    assert shown["mode"] == run["mode"]
    return dict(shown)


async def test_rest_starts_trials_and_a_replay_of_one_is_one(bench: Bench) -> None:
    async with gate_bench(bench, Market()) as open_one, served(open_one.application) as api:
        saved = await open_one.save(document(*PLAN))
        path = f"/api/v1/automations/{saved.automation_id}/run"
        async with open_one.worker():
            dry = await _asked(api, open_one, path, {"dry_run": True, "verify_mode": True})
            verify = await _asked(api, open_one, path, {"verify_mode": True})
            live = await _asked(api, open_one, path, {})
            again = await _asked(api, open_one, f"/api/v1/runs/{dry['id']}/replay", {})
        assert [one["mode"] for one in (dry, verify, live, again)] == [
            "dry_run",
            "verify",
            "live",
            "dry_run",
        ]
        assert len(dry["story"]["suppressed"]) == 5
        assert live["story"].get("suppressed") is None
        listed = (await api.client.get("/api/v1/runs")).json()["items"]
        assert {one["mode"] for one in listed} == {"dry_run", "verify", "live"}
        await _drafts_can_be_read(api, open_one, live["id"])
        wrong = await api.client.post(path, json={"dry_run": "yes"})
        assert wrong.status_code == 422
        assert wrong.json()["errors"][0]["pointer"] == "/dry_run"


async def _drafts_can_be_read(api: Api, bench: Bench, run_id: str) -> None:
    (draft,) = (await api.client.get("/api/v1/drafts")).json()["items"]
    assert (draft["status"], draft["capability"], draft["run_id"], draft["step"]) == (
        "pending",
        "test.mail",
        run_id,
        "mail",
    )
    # A reader need not look for the name among all automations.
    run = (await api.client.get(f"/api/v1/runs/{run_id}")).json()
    assert (draft["automation_id"], draft["automation"]) == (
        run["automation_id"],
        run["automation"],
    )
    # The approver sees what would be sent, whatever its fields are called.
    assert draft["arguments"] == {"mark": "d", "password": "pa55word"}
    assert (await api.client.get(f"/api/v1/drafts/{draft['id']}")).json() == draft
    assert (await api.client.get(f"/api/v1/drafts/{run_id}")).status_code == 404
    await bench.application.database.execute("UPDATE drafts SET expires_at = now()")
    for status, found in (("pending", 0), ("expired", 1)):
        shown = (await api.client.get("/api/v1/drafts", params={"status": status})).json()
        assert [one["status"] for one in shown["items"]] == [status] * found


async def test_an_idempotency_key_is_bound_to_one_mode(bench: Bench) -> None:
    async with served(bench.application) as api:
        saved = await bench.save(document(step("a", "test.echo")))
        path = f"/api/v1/automations/{saved.automation_id}/run"
        key = {"idempotency_key": "k1"}
        assert (await api.client.post(path, json={**key, "dry_run": True})).status_code == 202
        assert (await api.client.post(path, json=key)).status_code == 422


NOTIFY = step("tell", "email.notify_owner", {"subject": "Done", "text": "All is well."})
SAFE: dict[str, Any] = {"write_policy": "auto_confirm_safe"}


WRITES: list[tuple[dict[str, Any], Mode, str]] = [
    ({}, "live", "sent"),
    (SAFE, "live", "sent"),
    ({}, "verify", "pretended"),
    (SAFE, "verify", "pretended"),
    ({}, "dry_run", "pretended"),
    (SAFE, "dry_run", "pretended"),
]


async def test_a_word_to_the_owner_obeys_the_policy_and_the_mode(bench: Bench) -> None:
    post = MailServerDouble()
    async with (
        mail_server(post) as port,
        gate_bench(bench, Market(), smtp_url=f"smtp://127.0.0.1:{port}", owner_mail=OWNER) as one,
    ):
        for execution, mode, outcome in WRITES:
            run = await one.run(document(NOTIFY, execution=execution), mode=mode)
            assert (run["status"], run["calls"][0]["outcome"]) == ("succeeded", outcome), mode
        for execution in ({}, SAFE):
            asks = document({**NOTIFY, "approval": "ask"}, execution=execution)
            assert (await one.run(asks))["calls"][0]["outcome"] == "held"
    assert [envelope.rcpt_tos for envelope in post.envelopes] == [[OWNER]] * 2
    drafts = await bench.application.database.fetch("SELECT preview FROM drafts")
    assert [row["preview"] for row in drafts] == ["Mail to the owner “Done”: All is well."] * 2


async def test_without_an_owner_there_is_nobody_to_tell(bench: Bench) -> None:
    async with gate_bench(bench, Market(), smtp_url="smtp://127.0.0.1:9") as open_one:
        run = await open_one.run(document(NOTIFY, execution=SAFE))
    assert (run["status"], run["reason"]) == ("failed", "owner_mail_missing")
    assert "MAINSPRING_OWNER_MAIL" in run["error"]["suggestion"]


async def test_sends_that_no_person_agreed_to_are_counted_over_all_workers(bench: Bench) -> None:
    plan = document(
        step(
            "all",
            "for_each",
            {
                "items": list(range(40)),
                "steps": [step("nudge", "test.nudge", max_retries=0)],
            },
            max_retries=0,
        ),
        execution=SAFE,
    )
    run = await bench.run(plan)
    assert (run["status"], run["reason"]) == ("failed", "send_rate")
    assert sum(bench.outside.keys.values()) == bench.application.limits.sends_per_minute == 30
    assert 0 < run["error"]["retry_after"] <= 60


async def test_under_always_draft_no_way_in_sends_anything_without_a_person(bench: Bench) -> None:
    mail = step("mail", "test.mail", {"mark": "m"})
    bad = step("bad", "test.flaky", {"failures": 9, "permanent": True}, max_retries=0)
    again = step("again", "test.flaky", {"failures": 1}, retry_backoff="none", max_retries=1)
    async with gate_bench(bench, Market()) as one:
        runs = [
            await one.run(document(mail, name="step")),
            await one.run(
                document(step("all", "for_each", {"items": [1, 2], "steps": [mail]}), name="nested")
            ),
            await one.run(document(bad, execution={"on_failure": [mail]}, name="on failure")),
            await one.run(document(again, mail, name="after a retry")),
        ]
        assert [run["drafts"] for run in runs] == [1, 2, 1, 1]
        held = await one.application.gate.serve(_owner(one), "test.mail", {"mark": "m"})
    assert held["kind"] == "draft"
    assert await _counts(bench) == (4, 6, 0)
    assert not bench.outside.keys


def _owner(bench: Bench) -> CapabilityCaller:
    return CapabilityCaller(
        Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    )


async def test_a_call_that_was_not_granted_is_written_to_the_audit_log(bench: Bench) -> None:
    made = await bench.dispatch(document(step("a", "test.note")))
    await bench.application.database.execute("UPDATE automation_versions SET grants = '[]'")
    bench.application.versions.forget()
    async with bench.worker():
        await bench.until(made.run_id)
    (entry,) = await bench.application.database.fetch(
        "SELECT actor_id, subject, detail FROM audit_log WHERE action = 'grant.refused'"
    )
    assert (entry["actor_id"], entry["subject"]) == (made.run_id, "test.note")
    assert entry["detail"]["call"] == f"{made.run_id}/a/1"
