"""Consents over HTTP: an import answers what waits, and only a browser's person agrees."""

from __future__ import annotations

from mainspring.contracts.roles import Role
from tests.kit.api import Api
from tests.kit.bench import document, step
from tests.kit.people import ROOT, browser, make_person

DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})


async def test_a_person_in_a_browser_agrees_and_a_token_cannot(api: Api) -> None:
    file = document(ANSWER, name="Counter", triggers=[DAILY])
    (made,) = (await api.client.post(f"{ROOT}/import", json=file)).json()["imported"]
    consent, place = made["consent"], f"/automations/{made['id']}"
    answer = f"/consents/{consent['consent_id']}/answer"
    body = {"digest": consent["digest"], "agree": True, "activate": True}

    assert "It starts once a day." in [one["says"] for one in consent["additions"]]
    held = await api.program.post(f"{ROOT}{place}/activate")
    assert (held.status_code, held.json()["code"]) == (409, "consent_needed")
    assert [one["detail"] for one in held.json()["errors"]] == [
        one["says"] for one in consent["additions"]
    ]
    run = await api.program.post(f"{ROOT}{place}/run", json={})
    assert (run.status_code, run.json()["code"]) == (409, "consent_needed")
    token = await api.program.post(ROOT + answer, json=body)
    assert (token.status_code, token.json()["code"]) == (403, "person_needed")
    assert (await api.client.get(ROOT + answer)).status_code == 405
    assert (await api.anonymous.post(ROOT + answer, json=body)).status_code == 401

    application = api.application
    editor = await make_person(
        application.database,
        "ed@example.test",
        workspace_id=application.workspace_id,
        role=Role.EDITOR,
    )
    async with browser(api, editor.id) as page:
        elsewhere = await page.ask("POST", answer, json=body)
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "no_consent")
        moved = {"workspace_id": str(application.workspace_id)}
        assert (await page.ask("POST", "/session/workspace", json=moved)).status_code == 200
        listed = await page.ask("GET", f"/consents?status=any&limit=1&automation_id={made['id']}")
        assert listed.json()["consents"][0]["digest"] == consent["digest"]
        bad = await page.ask("POST", answer, json={"digest": "x", "agree": True})
        assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/digest")
        done = await page.ask("POST", answer, json=body)
        assert (done.status_code, done.json()["state"]) == (200, "active")
    shown = (await api.client.get(ROOT + place)).json()
    assert (shown["state"], shown["paused_reason"]) == ("active", None)


async def test_a_run_that_a_person_agrees_to_is_one_answer_and_one_run_in_the_log(
    api: Api,
) -> None:
    made = (await api.program.post(f"{ROOT}/automations", json=document(ANSWER))).json()
    body = {"digest": made["consent"]["digest"]}
    for _ in range(2):
        run = await api.client.post(f"{ROOT}/automations/{made['id']}/run", json=body)
        assert run.status_code == 202, run.text
    entries = (await api.client.get(f"{ROOT}/audit")).json()["items"]
    result = [(one["action"], one["subject"]) for one in reversed(entries)][-3:]
    started = ("run_automation", made["id"])
    assert result == [("answer_consent", made["consent"]["consent_id"]), started, started]
