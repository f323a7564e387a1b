"""A write in words becomes one exact draft, a question, or nothing; and files leave with it."""

from __future__ import annotations

import base64
from typing import Any
from uuid import uuid4

import pytest

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.errors import Invalid, NotFound
from mainspring.contracts.model import ModelReply, ToolCall
from mainspring.runs.run_requests import RunRequest
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import FakeModels
from tests.kit.parcels import Parcels, parcel, reading

PARCELS = str(install_id_of("parcels"))
NOTE = {"to": ["ada@example.com"], "subject": "Parcel", "body": "It has come."}
WORDS = {"source": "parcels", "request": "Tell Ada that it has come."}


def _chosen(name: str, **arguments: Any) -> ModelReply:
    return ModelReply("", "outside-1", 100, 50, calls=(ToolCall("1", name, arguments),))


async def test_a_model_reads_a_request_as_one_action_and_mends_what_does_not_fit(
    bench: Bench,
) -> None:
    models, parcels = FakeModels(), Parcels()
    async with reading(bench, parcels, models) as (here, member):
        models.script = [
            _chosen("send_note", to=["Ada"], subject="Parcel"),
            _chosen("send_note", **NOTE),
        ]
        batch = str(uuid4())
        draft = await member.call("act_on_integration", **WORDS, batch_id=batch)
        assert (draft["kind"], draft["action"]) == ("draft", "send_note")
        assert draft["payload"] == {
            "install_id": PARCELS,
            "action_name": "send_note",
            "input": NOTE,
            "batch_id": batch,
        }
        assert draft["preview"] == "Send to ada@example.com “Parcel”: It has come."
        tools = {one.name for one in models.requests[0].tools}
        assert tools == {"send_note", "ask_back", "nothing_to_do"}
        mended = models.requests[1].messages[-1].results[0]
        assert mended.failed
        assert "/body" in mended.content
        spent = await here.application.database.fetchval("SELECT count(*) FROM llm_usage")
        assert spent == 2, "both asks are booked with the call"
        assert parcels.sent == []
        sent = await member.call("confirm_action", draft_id=draft["draft_id"], hash=draft["hash"])
        assert (sent["status"], sent["result"]) == ("confirmed", {"message_id": "m-1"})
        assert parcels.sent == [NOTE]

        models.script = [_chosen("ask_back", question="Which Ada?")]
        assert await member.call("act_on_integration", **WORDS) == {
            "kind": "clarification",
            "question": "Which Ada?",
        }
        models.script = [_chosen("nothing_to_do", reason="It has not come.")]
        assert await member.call("act_on_integration", **WORDS) == {
            "kind": "noop",
            "reason": "It has not come.",
        }
        # Two mends at most; then a person is asked, with what the actions take.
        models.script = [_chosen("send_note", body=str(n)) for n in range(3)]
        unclear = await member.call("act_on_integration", **WORDS)
        assert unclear["kind"] == "clarification"
        assert "send_note (to, subject, body" in unclear["question"]
        drafts = await here.application.database.fetchval("SELECT count(*) FROM drafts")
        assert drafts == 1

        # A run that only tries it asks too, holds nothing, and reports what would be held.
        models.script = [_chosen("send_note", **NOTE)]
        run = await here.dispatch(document(step("act", "act_on_integration", WORDS)), mode="verify")
        async with here.worker():
            tried = await here.until(run.run_id)
        assert tried["output"]["kind"] == "suppressed", tried["error"]
        assert tried["output"]["payload"]["input"] == NOTE


async def test_a_grant_that_bounds_the_source_is_judged_the_same_when_asked_and_when_sent(
    bench: Bench,
) -> None:
    plain = "Write to ada@example.com about the parcel saying it has come"
    words = {"source": "parcels", "request": plain}
    exact = {"install_id": PARCELS, "action_name": "send_note", "input": NOTE}
    async with reading(bench, parcels := Parcels()) as (here, member), here.worker():

        async def run(config: Any, **bound: Any) -> Any:
            """A run of a plan whose grant was narrowed by the person who agreed to it."""
            name = f"narrow {uuid4()}"
            saved = await here.save(document(step("act", "act_on_integration", config), name=name))
            await here.application.database.execute(
                "UPDATE automation_versions SET grants = $2 WHERE automation_id = $1",
                saved.automation_id,
                [{"capability": "act_on_integration", "params": bound}],
            )
            request = RunRequest(here.application.workspace_id, saved.automation_id)
            return await here.until((await here.application.dispatcher.dispatch(request)).run_id)

        for config, bound in (
            (words, {"source": "parcels"}),
            (words, {"install_id": PARCELS}),
            (exact, {"source": ["parcels", "email"]}),
            (exact, {"install_id": PARCELS}),
        ):
            ended = await run(config, **bound)
            assert ended["outcome"] == "drafts_waiting", (bound, ended["error"])
            draft = ended["output"]["draft_id"]
            sent = await member.call("confirm_action", draft_id=draft)
            assert sent["outcome"] == "sent", bound
        for config, bound in (
            (words, {"source": "email"}),
            (exact, {"source": "email"}),
            # What only the words have is not there any more once they are read.
            (words, {"source": "parcels", "request": plain}),
        ):
            ended = await run(config, **bound)
            assert ended["error"]["code"] == "not_granted", bound
        waiting = await member.call("list_pending_actions")
        assert (len(parcels.sent), waiting["count"]) == (4, 0)


async def test_without_a_model_what_is_plain_is_read_and_the_rest_is_asked_back(
    bench: Bench,
) -> None:
    parcels = Parcels([parcel(1), parcel(2)], labelled={"1"})
    async with reading(bench, parcels) as (here, member):
        plain = "Write to ada@example.com about the parcel saying it has come"
        draft = await member.call("act_on_integration", source="parcels", request=plain)
        assert draft["payload"]["input"] == {
            "to": ["ada@example.com"],
            "subject": "the parcel",
            "body": "It has come",
        }
        asked = await member.call("act_on_integration", **WORDS)
        assert asked["kind"] == "clarification"
        assert "send_note (to, subject, body" in asked["question"]

        exact = {"install_id": PARCELS, "action_name": "send_note", "input": NOTE}
        found = await member.call("fetch_from_integration", source="parcels", request="all")
        one, other = found["page_slugs"]
        own = {"filename": "a.txt", "content_base64": base64.b64encode(b"A").decode()}
        with_files = await member.call(
            "act_on_integration", **exact, attachments=[own], attach_from_page=one
        )
        assert "with a.txt, label-1.txt" in with_files["preview"]
        assert "content_base64" not in str(with_files["payload"]), "a draft names its files"
        for wrong, output in (
            ({"attach_from_page": other}, "has no attachments"),
            ({"attachments": [own] * 5, "attach_from_page": one}, "At most 5"),
        ):
            with pytest.raises(Invalid, match=output) as refused:
                await member.call("act_on_integration", **exact, **wrong)
            assert refused.value.findings[0].pointer == "/attach_from_page"
        with pytest.raises(NotFound):
            await member.call("act_on_integration", **exact, attach_from_page="nowhere")
        waiting = await here.application.database.fetchval("SELECT count(*) FROM drafts")
        assert waiting == 2
        # What leaves has the words of the person who agreed, and the very bytes of the files.
        with pytest.raises(Invalid) as refused:
            await member.call(
                "confirm_action", draft_id=with_files["draft_id"], edits={"to": ["eve@example.com"]}
            )
        assert "/edits/to" in {one.pointer for one in refused.value.findings}
        sent = await member.call(
            "confirm_action",
            draft_id=with_files["draft_id"],
            edits={"subject": "Edited"},
            hash=with_files["hash"],
        )
        assert sent["status"] == "confirmed", sent
        (left,) = parcels.sent
        assert (left["to"], left["subject"]) == (["ada@example.com"], "Edited")
        files = [
            (one["filename"], base64.b64decode(one["content_base64"]))
            for one in left["attachments"]
        ]
        assert files == [("a.txt", b"A"), ("label-1.txt", b"To 1")]


async def test_what_needs_a_connection_is_refused_and_not_found_without_one(bench: Bench) -> None:
    async with reading(bench, Parcels([parcel(1)], auth="token")) as (here, member):
        exact = {"install_id": PARCELS, "action_name": "send_note", "input": NOTE}
        for call, given in (
            ("act_on_integration", exact),
            ("act_on_integration", WORDS),
            ("fetch_from_integration", {"source": "parcels", "request": "all"}),
            ("poll_integration", {"source": "parcels"}),
            ("watch_integration", {"source": "parcels"}),
        ):
            with pytest.raises(NotFound, match="not connected to Parcels") as refused:
                await member.call(call, **given)
            assert "/integrations/parcels" in str(refused.value.suggestion)
        assert await here.application.database.fetchval("SELECT count(*) FROM drafts") == 0

        async def found() -> list[str]:
            pages = await member.call("list_pages", type="integration_action", limit=100)
            return [page["slug"] for page in pages["pages"]]

        slug = f"integration-action.{PARCELS}.send_note"
        assert slug not in await found()
        await here.application.database.execute(
            "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, label, "
            "auth) VALUES ($1, gen_random_uuid(), $2, 'parcels', 'Parcels', 'token')",
            here.application.workspace_id,
            member.caller.actor.id,
        )
        # Somebody else's page with its name, from before such names were refused, stops no other.
        database = here.application.database
        await member.call("create_page", title="Mine", type="note", body="x")
        accepted = "UPDATE pages SET source_ref = $1 WHERE slug = 'mine'"
        await database.execute(accepted, f"install:{PARCELS}:send_note")
        assert slug not in await found()
        await member.call("query", q="send", type="integration_action")
        await database.execute(accepted, None)
        assert slug in await found()
        page = await member.call("get_page", slug=slug)
        result = page["frontmatter"]
        assert result.keys() >= {
            "install_id",
            "action_name",
            "description",
            "input_schema",
            "requires_confirmation",
            "examples",
            "side_effect",
        }
        assert result["input_schema"]["required"] == ["to", "subject", "body"]
        asked = await member.call(
            "query", q="send a note about a parcel", type="integration_action"
        )
        assert slug in [one["slug"] for one in asked["pages"]]
        await here.application.database.execute("DELETE FROM integration_connections")
        assert slug not in await found()
        assert (await member.call("act_on_integration", source="email", request="hm"))[
            "kind"
        ] == "clarification"
