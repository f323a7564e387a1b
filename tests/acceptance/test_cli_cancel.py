"""The command line while a run waits: cancelling it, leaving it, dying on it."""

from __future__ import annotations

import signal

from tests.acceptance.commands import (
    PATIENCE,
    Mainspring,
    definition,
    line_with,
    nap,
    rest_of,
    silent_server,
    step,
)
from tests.acceptance.conftest import Write
from tests.acceptance.loopback_servers import web

QUICK_LEASE = {"lease_seconds": "2", "heartbeat_seconds": "0.5"}


def test_ctrl_c_cancels_the_run(mainspring: Mainspring, write: Write) -> None:
    with mainspring.started("run", write(nap("Long nap", 600))) as process:
        line_with(process, "waiting until")
        process.send_signal(signal.SIGINT)
        text = rest_of(process)

    assert process.returncode == 7, text
    assert "Cancelled" in text
    assert mainspring("logs", "last", "--json").json["status"] == "cancelled"


def test_a_run_that_was_left_is_finished_by_a_worker(mainspring: Mainspring, write: Write) -> None:
    with mainspring.started("run", write(nap("Left alone", 3))) as process:
        line_with(process, "waiting until")
        process.send_signal(signal.SIGTERM)
        text = rest_of(process)
    assert process.returncode == 10, text

    with mainspring.started("worker", "--queues", "fast", "--slots", "2") as worker:
        line_with(worker, "Working on fast with 2 slots")
        line_with(worker, "succeeded")
        worker.send_signal(signal.SIGTERM)
        assert "The worker has stopped." in rest_of(worker)
    assert worker.returncode == 0
    assert mainspring("logs", "last", "--json").json["output"] == "awake"


def test_a_second_ctrl_c_leaves_at_once_and_the_next_worker_ends_the_run(
    mainspring: Mainspring, write: Write
) -> None:
    with silent_server() as port:
        allowed = {"egress_allow": f"127.0.0.1:{port}"}
        hanging = step("ask", "http_fetch", url=f"http://127.0.0.1:{port}/")
        path = write(definition("Hanging", [hanging]))
        with mainspring.started("run", path, settings=allowed) as process:
            line_with(process, "→ ask")
            process.send_signal(signal.SIGINT)
            line_with(process, "Cancelling")
            process.send_signal(signal.SIGINT)
            text = rest_of(process)

    # The cancellation may be quicker than the second signal.
    assert process.returncode in {7, 10}, text
    if process.returncode == 10:
        run_id = mainspring("logs", "last", "--json").json["id"]
        with mainspring.started("worker") as worker:
            line_with(worker, f"{run_id} cancelled")
    assert mainspring("logs", "last", "--json").json["status"] == "cancelled"


def test_a_run_is_shown_whichever_process_executes_it(mainspring: Mainspring, write: Write) -> None:
    with mainspring.started("worker") as worker:
        line_with(worker, "Working on")
        for number in range(3):
            plan = [step("a", "transform_data", output=number), step("b", "delay", seconds=0.2)]
            ended = mainspring("run", write(definition(f"Shared {number}", plan)))

            assert ended.code == 0, ended.output
            assert ended.out.count("✓ a") == ended.out.count("✓ b") == 1


def test_waiting_may_be_given_a_limit(mainspring: Mainspring, write: Write) -> None:
    ended = mainspring("run", write(nap("Too long", 600)), "--timeout", "0.5", "--json")

    assert ended.code == 10, ended.output
    assert ended.json["status"] == "waiting"
    assert mainspring("cancel", ended.json["id"]).code == 0


def test_two_commands_run_concurrently_and_the_second_run_is_dropped(
    mainspring: Mainspring, write: Write
) -> None:
    with web() as outside:
        # However slow the second one is, the first is under way: it waits, and then it asks.
        plan = [
            step("nap", "delay", seconds=3),
            step("ask", "http_fetch", url=outside.url("/held/first")),
        ]
        alone = {"concurrency": "drop_if_running"}
        path = write(definition("One at a time", plan, execution=alone))
        allowed = {"egress_allow": outside.pair}
        with mainspring.started("run", path, settings=allowed) as first:
            line_with(first, "waiting until")
            second = mainspring("run", path, settings=allowed)
            outside.let_go("/held/first")
            text = rest_of(first)

    assert second.code == 8, second.output
    assert "drop_if_running" in second.out
    assert first.returncode == 0, text


def test_a_run_whose_process_was_killed_is_resumed_by_the_next_command(
    mainspring: Mainspring, write: Write
) -> None:
    numbers = list(range(300))
    inner = [step("note", "automation_kv.set", key="n/{{ item }}", value="{{ run.id }}")]
    plan = [step("walk", "for_each", items=numbers, steps=inner)]
    with mainspring.started(
        "run", write(definition("Killed", plan)), settings=QUICK_LEASE
    ) as process:
        line_with(process, "✓ note[20]")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)

    # A second command stays long enough for the lease of the first to run out.
    ended = mainspring("run", write(nap("Bystander", 6)), settings=QUICK_LEASE)
    assert ended.code == 0, ended.output
    assert "1 earlier run is being resumed." in ended.out
    run = _run_of(mainspring, "Killed")
    if run["status"] != "succeeded":
        with mainspring.started("worker", settings=QUICK_LEASE) as worker:
            line_with(worker, f"{run['id']} succeeded")
    rows = mainspring("logs", str(run["id"]), "--json").json["steps"]
    done = [row["item"] for row in rows if row["step"] == "note"]
    assert sorted(done, key=int) == [str(number) for number in numbers]


def _run_of(mainspring: Mainspring, name: str) -> dict[str, object]:
    runs = mainspring("runs", "--automation", name, "--json").json["runs"]
    assert len(runs) == 1
    found: dict[str, object] = runs[0]
    return found
