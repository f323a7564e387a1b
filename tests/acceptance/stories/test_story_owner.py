"""What an owner has of it: word of failures, files that runs made, automations as files."""

from __future__ import annotations

import hashlib
import json
from email.message import EmailMessage
from pathlib import Path

from tests.acceptance.commands import Mainspring, step
from tests.acceptance.loopback_servers import Web
from tests.acceptance.server import (
    SOON,
    Json,
    Started,
    definition,
    outputs,
    problem,
    trigger,
)
from tests.acceptance.stories.conftest import OWNER, World
from tests.kit.processes import wait_until

# --- failures


def test_failures_are_reported_and_end_what_keeps_failing_until_it_is_mended(
    server: Started, world: World, pages: Web
) -> None:
    made = server.save(
        definition(
            "Fragile",
            [step("ask", "http_fetch", url=pages.url("/mood/fragile"))],
            [trigger("hook", "webhook")],
        )
    )
    token = server.token(made, "hook")
    pages.mood = 404
    failed: list[str] = []
    while len(failed) < 5:
        assert automation(server, made)["state"] == "active"
        run = server.ended(server.fire(made, token, {}).json()["run_id"])
        assert run["status"] == "failed"
        failed.append(run["id"])

    wait_until(lambda: automation(server, made)["state"] == "paused", SOON, "the pause")
    assert automation(server, made)["paused_reason"] == "failures"
    assert automation(server, made)["failures"] == 5
    pause, alert = [message for message in inbox(server, made) if message["read_at"] is None]
    assert alert["title"] == "Fragile failed"
    assert "ask" in alert["message"]
    assert (pause["title"], pause["level"]) == (
        "Fragile was paused after repeated failures",
        "warning",
    )
    refused = server.fire(made, token, {}).json()
    assert (refused["status"], refused["reason"]) == ("skipped", "paused")
    assert len(server.runs(made)) == 6
    titles = {alert["title"], pause["title"]}
    wait_until(lambda: titles <= letters(world).keys(), SOON, "the mails")
    assert {letters(world)[title]["To"] for title in titles} == {OWNER}
    # The last run may have ended while the one before it was being reported.
    result = letters(world)[pause["title"]].get_content()
    assert any(run_id in result for run_id in failed[-2:])

    pages.mood = 200
    server.post(f"/automations/{made}/acknowledge")
    assert [message["read_at"] for message in inbox(server, made)].count(None) == 0
    server.post(f"/automations/{made}/activate")
    mended = server.ended(server.fire(made, token, {}).json()["run_id"])
    assert mended["status"] == "succeeded"
    now = automation(server, made)
    assert (now["state"], now["paused_reason"], now["failures"]) == ("active", None, 0)


def automation(server: Started, automation_id: str) -> Json:
    found: Json = server.get(f"/automations/{automation_id}")
    return found


def inbox(server: Started, automation_id: str) -> list[Json]:
    return [one for one in server.items("/inbox") if one["automation_id"] == automation_id]


def letters(world: World) -> dict[str, EmailMessage]:
    return {str(mail["Subject"]): mail for mail in world.post.messages}


# --- files that runs made


def saving(name: str, text: str, **more: str) -> Json:
    return definition(name, [step("keep", "artifacts.save", name="report.csv", text=text, **more)])


def test_a_file_that_a_run_saved_is_fetched_by_a_link_without_a_token(server: Started) -> None:
    text = "city,sun\nNice,2724\n"
    run = server.ended(server.run(server.save(saving("Reports", text))))
    (stored,) = server.items(f"/runs/{run['id']}/artifacts")
    assert outputs(run)["keep"]["artifact_id"] == stored["id"]
    assert stored["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    path = f"/artifacts/{stored['id']}"
    assert problem(server.anonymous.get(path + "/content"), 401)

    link = server.post(path + "/link", {"seconds": 600})["url"]
    fetched = server.anonymous.get(link)

    assert link.startswith(server.address)
    assert (fetched.status_code, fetched.text) == (200, text)
    assert fetched.headers["content-disposition"].startswith("attachment")
    later = link.replace("expires=", "expires=1")
    other = server.ended(server.run(server.save(saving("Other reports", "secret"))))
    another = link.replace(stored["id"], outputs(other)["keep"]["artifact_id"])
    forged = link[:-1] + ("A" if link[-1] != "A" else "B")
    for tampered in (later, another, forged):
        assert problem(server.anonymous.get(tampered), 404)

    short = server.post(path + "/link", {"seconds": 1})["url"]
    wait_until(lambda: server.anonymous.get(short).status_code != 200, SOON, "the link's end")
    assert problem(server.anonymous.get(short), 410)["code"] == "link_expired"
    assert server.owner.delete(path).status_code == 204
    assert problem(server.anonymous.get(link), 404)


def test_a_shared_file_has_its_link_from_the_start_and_a_private_one_never(
    server: Started,
) -> None:
    shared = server.ended(server.run(server.save(saving("Shared", "a", visibility="shared"))))
    private = server.ended(server.run(server.save(saving("Private", "a", visibility="private"))))

    fetched = server.anonymous.get(outputs(shared)["keep"]["url"])
    hidden = outputs(private)["keep"]

    assert (fetched.status_code, fetched.text) == (200, "a")
    assert "url" not in hidden
    refused = server.owner.post(f"/artifacts/{hidden['artifact_id']}/link", json={})
    assert problem(refused, 403)["code"] == "artifact_private"


# --- automations as files


def test_an_exported_automation_comes_back_the_same_and_paused(
    server: Started, mainspring: Mainspring, tmp_path: Path
) -> None:
    number = {"n": {"type": "integer", "default": 1}}
    document = definition(
        "Portable",
        [step("say", "transform_data", output="{{ inputs.n }}")],
        [
            trigger("hook", "webhook", input_mapping={"n": "$.n"}),
            trigger("daily", "schedule", cron="0 9 * * 1-5", timezone="Europe/Paris"),
        ],
        inputs={"schema": {"type": "object", "properties": number}},
    )
    made = server.save(document)
    (version,) = server.items(f"/automations/{made}/versions")
    exported = server.get(f"/automations/{made}/export")
    file = tmp_path / "portable.json"
    assert mainspring("export", "Portable", "-o", file).code == 0
    assert json.loads(file.read_text()) == exported
    clash = server.owner.post("/import", json=exported)
    assert problem(clash, 409)

    server.post(f"/automations/{made}/archive")
    by_rest = server.post("/import", exported)["imported"]
    again = by_rest[0]["id"]
    same = server.items(f"/automations/{again}/versions")
    server.post(f"/automations/{again}/archive")
    by_hand = mainspring("import", file, "--json")

    assert by_hand.code == 0, by_hand.output
    (third,) = server.items("/automations", search="Portable")
    assert len({made, again, third["id"]}) == 3
    assert third["state"] == by_rest[0]["state"] == "paused"
    versions = [*same, *server.items(f"/automations/{third['id']}/versions")]
    assert [one["definition_hash"] for one in versions] == [version["definition_hash"]] * 2
    triggers = server.get(f"/automations/{third['id']}/triggers")["items"]
    assert [one["armed_at"] for one in triggers] == [None, None]
    assert [one["token"] for one in triggers] == [None, None]
