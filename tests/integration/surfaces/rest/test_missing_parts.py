"""Missing parts over REST: warnings at validate and save, a refusal at activation."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.people import browser

V1 = "/api/v1"


async def _codes(api: Api, path: str, written: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    answer = await api.client.post(f"{V1}/{path}", json=written)
    assert answer.status_code in (200, 201), answer.text
    output = answer.json()
    return str(output.get("id")), output["warnings"]


async def test_a_part_that_every_run_needs_is_reported_early_and_blocks_activation(
    api: Api,
) -> None:
    written = document(step("post", "slack_post", {"channel": "#a", "text": "hello"}))
    _, warnings = await _codes(api, "validate", written)
    assert [(one["pointer"], one["code"]) for one in warnings] == [("/plan/0", "not_connected")]
    made, warnings = await _codes(api, "automations", written)
    assert [one["code"] for one in warnings] == ["not_connected"]
    answer = await api.client.post(f"{V1}/automations/{made}/activate")
    assert answer.status_code == 409, answer.text
    output = answer.json()
    assert output["code"] == "parts_missing"
    assert [(one["pointer"], one["code"]) for one in output["errors"]] == [
        ("/plan/0", "not_connected")
    ]
    shown = await api.client.get(f"{V1}/automations/{made}")
    assert shown.json()["state"] == "paused"


async def test_a_part_that_a_run_may_not_need_is_a_warning_only(api: Api) -> None:
    post = step("post", "slack_post", {"channel": "#a", "text": "hello"})
    first = step("say", "transform_data", {"output": {"a": "b"}})
    written = document(first, {**post, "when": "{{ steps.say.a == 'c' }}"})
    made, _ = await _codes(api, "automations", written)
    answer = await api.client.post(f"{V1}/automations/{made}/activate")
    assert answer.status_code == 200, answer.text
    assert [one["code"] for one in answer.json()["warnings"]] == ["not_connected"]


async def test_a_credential_in_plain_text_is_warned_of_without_repeating_it(api: Api) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0"
    headers = {"Authorization": f"Bearer {token}"}
    written = document(
        step("get", "http_fetch", {"url": "https://api.example.com/", "headers": headers})
    )
    for path in ("validate", "automations"):
        _, warnings = await _codes(api, path, written)
        (found,) = [one for one in warnings if one["code"] == "credential_literal"]
        assert found["pointer"] == "/plan/0/config/headers/Authorization"
        assert "secrets set" in found["suggestion"]
        assert token[4:] not in str(warnings)


async def test_an_answer_that_also_activates_is_refused_with_the_missing_part(api: Api) -> None:
    file = document(step("post", "slack_post", {"channel": "#a", "text": "hello"}), name="Digest")
    (made,) = (await api.client.post(f"{V1}/import", json=file)).json()["imported"]
    consent = made["consent"]
    body = {"digest": consent["digest"], "agree": True, "activate": True}
    async with browser(api, FIRST_MEMBER) as at:
        answer = await at.ask("POST", f"/consents/{consent['consent_id']}/answer", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "parts_missing"), answer.text
        # Nothing was answered.
        shown = await at.ask("GET", f"/consents/{consent['consent_id']}")
        assert shown.json()["status"] == "waiting"


MAIL = {"subject": "Done", "text": "All is well."}


async def test_mail_to_me_without_a_mail_server_is_reported_everywhere_and_never_succeeds(
    bench: Bench,
) -> None:
    async with served(bench.application, own_app=True) as api, bench.worker():
        given = {"text": "every morning at 7 list the new pages and mail it to me", "by": "rules"}
        proposed = await api.client.post(f"{V1}/proposals", json={**given, "timezone": "UTC"})
        review = proposed.json()["review"]
        assert "mail_not_set_up" in {one["code"] for one in review["flags"]}, review["flags"]

        written = document(step("tell", "email.notify_owner", MAIL, max_retries=0))
        made, warnings = await _codes(api, "automations", written)
        assert [(one["pointer"], one["code"]) for one in warnings] == [
            ("/plan/0", "mail_not_set_up")
        ]
        refused = await api.client.post(f"{V1}/automations/{made}/activate")
        assert (refused.status_code, refused.json()["code"]) == (409, "parts_missing")
        started = await api.client.post(f"{V1}/automations/{made}/run", json={})
        run = await bench.until(UUID(started.json()["run_id"]))
        assert (run["status"], run["reason"]) == ("failed", "owner_mail_missing")
        assert run["error"]["suggestion"]


async def test_a_notice_after_a_failure_that_cannot_leave_is_reported_and_recorded(
    bench: Bench,
) -> None:
    notice = step("tell", "email.notify_owner", MAIL, max_retries=0)
    breaks = step("bad", "test.flaky", {"failures": 9, "permanent": True}, max_retries=0)
    written = document(breaks, execution={"on_failure": [notice]})
    async with served(bench.application, own_app=True) as api, bench.worker():
        made, warnings = await _codes(api, "automations", written)
        expected = [("/execution/on_failure/0", "mail_not_set_up")]
        assert [(one["pointer"], one["code"]) for one in warnings] == expected
        answer = await api.client.post(f"{V1}/automations/{made}/activate")
        assert answer.status_code == 200, answer.text
        warnings = answer.json()["warnings"]
        assert [(one["pointer"], one["code"]) for one in warnings] == expected
        started = await api.client.post(f"{V1}/automations/{made}/run", json={})
        run = await bench.until(UUID(started.json()["run_id"]))
    assert run["status"] == "failed"
    assert run["error"]["on_failure"]["code"] == "owner_mail_missing"


async def _connect(api: Api, integration: str, state: str, *scopes: str) -> UUID:
    made = generate_id()
    await api.application.database.execute(
        """
        INSERT INTO integration_connections
            (workspace_id, id, owner_id, integration, label, auth, state, scopes)
        VALUES ($1, $2, $3, $4, $4, 'oauth', $5, $6)
        """,
        api.application.workspace_id,
        made,
        FIRST_MEMBER,
        integration,
        state,
        list(scopes),
    )
    return made


async def test_a_scope_that_the_step_needs_blocks_activation_and_another_one_warns(
    api: Api,
) -> None:
    post = step("post", "slack_post", {"channel": "#a", "text": "hello"})
    made, _ = await _codes(api, "automations", document(post))
    connection = await _connect(api, "slack", "ready", "channels:read")
    answer = await api.client.post(f"{V1}/automations/{made}/activate")
    assert (answer.status_code, answer.json()["code"]) == (409, "parts_missing"), answer.text
    (lacks,) = answer.json()["errors"]
    assert (lacks["pointer"], lacks["code"]) == ("/plan/0", "scope_missing")
    assert "(chat:write)" in lacks["detail"]

    # Posting needs no permission to read; the connection is only older than the integration.
    await api.application.database.execute(
        "UPDATE integration_connections SET scopes = '{chat:write}' WHERE id = $1", connection
    )
    answer = await api.client.post(f"{V1}/automations/{made}/activate")
    assert answer.status_code == 200, answer.text
    assert [one["code"] for one in answer.json()["warnings"]] == ["scope_outdated"]


async def test_what_is_read_again_and_again_is_not_activated_over_an_ended_connection(
    api: Api,
) -> None:
    connection = await _connect(api, "gmail", "reconnect")
    answer = await api.client.post(f"{V1}/capabilities/watch_integration", json={"source": "gmail"})
    assert (answer.status_code, answer.json()["code"]) == (409, "parts_missing"), answer.text
    (lacks,) = answer.json()["errors"]
    assert (lacks["pointer"], lacks["code"]) == ("/plan/0", "reconnect")
    assert await api.application.database.fetchval("SELECT count(*) FROM automations") == 0

    await api.application.database.execute(
        "UPDATE integration_connections SET state = 'ready' WHERE id = $1", connection
    )
    answer = await api.client.post(f"{V1}/capabilities/watch_integration", json={"source": "gmail"})
    assert answer.json()["state"] == "active", answer.text
