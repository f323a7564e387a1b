"""Drafts answered over REST: by POST, by somebody who is known, and once."""

from __future__ import annotations

from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.drafts import INPUTS, POST, office

AN_ID = "01900000-0000-7000-8000-0000000000ff"


async def test_a_run_says_which_draft_it_waits_for_and_goes_on_once_it_is_confirmed(
    bench: Bench,
) -> None:
    note = step("note", "notification", {"title": "{{ steps.tell.ts }}"})
    plan = document(step("tell", "slack_post", POST), note, inputs=INPUTS)
    async with office(bench) as here, served(here.bench.application) as api, here.bench.worker():
        made = await here.bench.dispatch(plan, inputs={"who": "Ada"})
        await here.bench.until(made.run_id, "waiting")
        run = (await api.client.get(f"/api/v1/runs/{made.run_id}")).json()

        assert run["story"]["headline"] == "Waiting for approval of a write."
        (waits,) = run["story"]["waits_for"]
        assert (waits["kind"], waits["step"], waits["page"]) == (
            "draft",
            "tell",
            f"/inbox?draft={waits['id']}",
        )
        assert "Hello Ada" in waits["text"]
        draft = (await api.client.get(f"/api/v1/drafts/{waits['id']}")).json()
        assert (draft["awaited"], draft["run_id"]) == (True, run["id"])
        assert draft["expires_at"][:19] == waits["until"][:19]

        await here.confirm(waits["id"])
        await here.bench.until(made.run_id, "succeeded")
        run = (await api.client.get(f"/api/v1/runs/{made.run_id}")).json()
        assert "waits_for" not in run["story"]


async def test_a_draft_is_confirmed_and_discarded_by_post_alone(bench: Bench) -> None:
    async with office(bench) as here, served(here.bench.application) as api:
        sent, dropped = await here.nudge("yes"), await here.nudge("no")
        drafts = "/api/v1/drafts"
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            for deed in ("confirm", "discard", "edit", "redraft"):
                answer = await api.client.request(method, f"{drafts}/{sent}/{deed}")
                assert answer.status_code == 405, (method, deed)
        for several in ("confirm", "discard"):
            got = await api.client.get(f"{drafts}/{several}", params={"draft_ids": sent})
            assert got.status_code in (405, 422), several
        assert (await api.anonymous.post(f"{drafts}/{sent}/confirm")).status_code == 401
        bad = await api.client.post(f"{drafts}/nothing/confirm")
        assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/draft_id")
        assert (await api.client.post(f"{drafts}/{AN_ID}/confirm")).status_code == 404
        twice = await api.client.post(f"{drafts}/{sent}/confirm", json={"draft_id": sent})
        assert twice.status_code == 422
        assert here.telegram.requests == []

        confirmed = await api.client.post(f"{drafts}/{sent}/confirm")
        again = await api.client.post(
            "/api/v1/capabilities/confirm_action", json={"draft_id": sent}
        )
        discarded = await api.client.post(f"{drafts}/{dropped}/discard", json={"reason": "No."})
        late = await api.client.post(f"{drafts}/{dropped}/confirm")

        assert (confirmed.status_code, again.json()) == (200, confirmed.json())
        assert confirmed.json()["result"] == {"message_id": 101}
        assert discarded.json() == {"ok": True, "draft_id": dropped, "status": "discarded"}
        assert (late.status_code, late.json()["code"]) == (409, "draft_discarded")
        shown = (await api.client.get(f"{drafts}/{sent}")).json()
        assert (shown["status"], shown["outcome"], shown["result"]) == (
            "confirmed",
            "sent",
            {"message_id": 101},
        )
        listed = (await api.client.get(drafts, params={"status": "discarded"})).json()["items"]
        assert [(one["id"], one["reason"]) for one in listed] == [(dropped, "No.")]
        assert [message["text"] for message in here.telegram.messages] == ["yes"]

        third = (await api.client.post(f"{drafts}/{dropped}/redraft")).json()
        place = f"{drafts}/{third['draft_id']}"
        edited = (await api.client.post(f"{place}/edit", json={"edits": {"text": "maybe"}})).json()
        bare = await api.client.post(f"{place}/confirm")
        assert (bare.status_code, bare.json()["code"]) == (409, "draft_edited")
        row = (await api.client.get(place)).json()
        assert (row["hash"], row["revision"], row["editable"]) == (edited["hash"], 2, ["text"])
        both = {"draft_ids": [third["draft_id"], AN_ID], "hashes": {row["id"]: row["hash"]}}
        results = (await api.client.post(f"{drafts}/confirm", json=both)).json()["results"]
        assert [one["status"] for one in results] == ["confirmed", "failed"]
        acked = await api.client.post(
            f"/api/v1/inbox/{row['id']}/ack", json={"decision": "approved"}
        )
        assert acked.json()["recorded"] is True
        policy = "/api/v1/approval-policy"
        locked = await api.client.put(policy, json={"approvers": 5})
        assert (locked.status_code, locked.json()["errors"][0]["pointer"]) == (422, "/approvers")
        assert (await api.client.get(policy)).json()["approvers"] == 1
        assert [message["text"] for message in here.telegram.messages] == ["yes", "maybe"]
