"""Stopping in the middle of things and starting again: everything goes on, nothing twice."""

from __future__ import annotations

from datetime import datetime

from tests.acceptance.commands import Mainspring, open_folder, step
from tests.acceptance.loopback_servers import Web
from tests.acceptance.server import (
    SOON,
    Json,
    Started,
    definition,
    outputs,
    started,
    statuses,
    trigger,
)
from tests.kit.processes import wait_until

WHEN_LET_GO, CUT_OFF = "/held/finished", "/held/cut"


def asking(name: str, pages: Web, path: str) -> Json:
    """Asks the web between two other steps; a second run waits in the queue behind the first."""
    plan = [
        step("before", "transform_data", output=1),
        step("ask", "http_fetch", url=pages.url(path)),
        step("after", "transform_data", output="{{ steps.ask.status }}"),
    ]
    return definition(name, plan, [trigger("hook", "webhook")])


def test_a_server_that_was_stopped_goes_on_with_everything_and_repeats_nothing(
    pages: Web,
) -> None:
    settings = {"egress_allow": pages.pair, "stop_seconds": "2"}
    with open_folder() as folder:
        mainspring = Mainspring(folder / "home")
        with started(mainspring, settings) as server:
            asked = server.save(asking("Asked", pages, WHEN_LET_GO))
            cut = server.save(asking("Cut off", pages, CUT_OFF))
            sleep = [step("sleep", "delay", seconds=5), step("after", "transform_data", output=1)]
            sleeper = server.save(definition("Sleeper", sleep))
            token = server.token(asked, "hook")
            first = server.fire(asked, token, {}, idempotency_key="one").json()["run_id"]
            runs = [first, server.run(asked), server.run(cut), server.run(sleeper)]
            server.until(runs[3], "waiting")
            wait_until(lambda: {WHEN_LET_GO, CUT_OFF} <= set(pages.asked), SOON, "the requests")
            (waiting,) = server.read(runs[3])["steps"]
            before = {run["id"] for run in server.items("/runs")}
            with server.watching("/stream") as events:
                assert next(events).data["id"] in before
                server.process.terminate()
                server.output.until(state="stopping")
                pages.let_go(WHEN_LET_GO)
                # Watchers see that it is over, by the end of the stream.
                assert {sent.data["id"] for sent in events if sent.kind == "run"} <= before
            server.output.until(state="stopped")
            assert server.process.wait(SOON) == 0

        pages.let_go(CUT_OFF)
        with started(mainspring, settings) as server:
            ended = [server.ended(run_id) for run_id in runs]
            again = server.fire(asked, token, {}, idempotency_key="one")

            check(ended, pages)
            assert moment(outputs(ended[3])["sleep"]["waited_until"]) == moment(waiting["until"])
            assert again.json()["run_id"] == first
            assert {run["id"] for run in server.items("/runs")} == before
            result = [event["run_id"] or event["payload"]["run_id"] for event in ends(server)]
            assert sorted(result) == sorted(runs)
            assert server.stop() == 0


def check(ended: list[Json], pages: Web) -> None:
    """Each step was recorded once; what was let finish was not asked for again."""
    whole = [("before", "succeeded"), ("ask", "succeeded"), ("after", "succeeded")]
    assert [run["status"] for run in ended] == ["succeeded"] * 4
    assert [statuses(run) for run in ended[:3]] == [whole] * 3
    assert pages.asked.count(WHEN_LET_GO) == 2
    assert pages.asked.count(CUT_OFF) == 2
    assert [run["takeovers"] for run in ended] == [0] * 4


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def ends(server: Started) -> list[Json]:
    return server.items("/events", type="automation.run.succeeded")
