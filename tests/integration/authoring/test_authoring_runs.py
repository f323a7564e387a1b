"""A run that authors: nothing it makes or changes may do more than the run itself."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from tests.kit.authoring import CRON, CapabilityClient
from tests.kit.bench import Bench
from tests.kit.consent import agree_to_all

FETCH = {"tool": "http_fetch", "params": {"hosts": ["a.example"]}}
UPDATE = {"tool": "update_automation"}
# Each edit on its own: what was refused, by its code, or null.
EDITS = """
const told = [];
for (const edit of EDITS) {
  try {
    await brains.update_automation({ automation_id: TARGET, ...edit });
    told.push(null);
  } catch (error) {
    told.push(error.code);
  }
}
return told;
"""
SAVES = """
const told = [];
for (const draft of DRAFTS) {
  try {
    const made = await brains.save_automation_draft(draft);
    told.push(made.automation_id);
  } catch (error) {
    told.push(error.code);
  }
}
return told;
"""
WIDER = "wider_than_its_author"


async def _run(desk: CapabilityClient, source: str, **more: Any) -> Any:
    """What a new automation with this source answers when it runs live."""
    one = await desk.save(source=source, **more)
    result = await desk.call("run_automation_once", {"automation_id": one, "dry_run": False})
    assert result["status"] == "succeeded", result
    return (await desk.bench.read(UUID(result["run_id"])))["output"]


async def _edit(
    desk: CapabilityClient,
    name: str,
    target: str,
    edits: list[dict[str, Any]],
    tools: list[Any],
    **more: Any,
) -> list[str | None]:
    head = f"const TARGET = {json.dumps(target)};\nconst EDITS = {json.dumps(edits)};\n"
    lines: list[str | None] = await _run(
        desk, head + EDITS, name=name, tool_grants=[UPDATE, *tools], **more
    )
    return lines


async def test_a_run_cannot_use_another_automations_grants_by_changing_it(bench: Bench) -> None:
    client = CapabilityClient(bench)
    first = await client.call(
        "save_automation_draft",
        {
            "name": "the target",
            "source": "return 1;",
            "triggers": [CRON],
            "tool_grants": [FETCH, {"tool": "get_board"}],
            "acknowledged_http_fetch_hosts": ["a.example"],
        },
    )
    target = first["automation_id"]
    await client.call(
        "update_automation",
        {
            "automation_id": target,
            "source": "return 2;",
            "acknowledged_http_fetch_hosts": ["a.example"],
            "state": "active",
        },
    )
    source = {"source": "return 3;", "acknowledged_http_fetch_hosts": ["a.example"]}
    wide: list[dict[str, Any]] = [
        source,
        {"triggers": [{"kind": "webhook"}]},
        {"max_llm_tokens": 200_001},
        {"cost_cap_daily_usd": 1.5},
        {"max_wall_seconds": 61},
        {"active_version_id": first["version_id"]},
        {"state": "paused"},
    ]
    before = await client.stored(target)
    async with bench.worker():
        assert await _edit(client, "small", target, wide, []) == [WIDER] * len(wide)
        after = await client.stored(target)
        assert (after["definition"], after["state"]) == (before["definition"], "active")

        less: list[dict[str, Any]] = [{"description": "Other words."}, {"cost_cap_daily_usd": 0.5}]
        assert await _edit(client, "modest", target, less, []) == [None, None]

        own = {"acknowledged_http_fetch_hosts": ["a.example"]}
        equal = await _edit(
            client,
            "equal",
            target,
            [source, {"state": "paused"}],
            [FETCH, {"tool": "get_board"}],
            **own,
        )
        assert equal == [None, None]
    stored = await client.stored(target)
    assert stored["definition"]["plan"][0]["config"]["source"] == "return 3;"
    assert stored["state"] == "paused"


async def test_a_run_cannot_let_a_secret_go_where_it_does_not_send_it_itself(bench: Bench) -> None:
    client = CapabilityClient(bench)
    await client.call(
        "automation_secret_set", {"name": "key", "value": "only-the-owner-knows-this"}
    )
    sends = 'await brains.http_fetch({ url: "https://a.example/", headers: { a: "{{key}}" } });'
    acknowledged = {"acknowledged_http_fetch_hosts": ["a.example"]}
    target = await client.save(name="sends", source=sends, tool_grants=[FETCH], **acknowledged)
    async with bench.worker():
        result = await _edit(
            client,
            "sends nothing",
            target,
            [{"triggers": [{"kind": "webhook"}]}],
            [FETCH],
            **acknowledged,
        )
        assert result == ["secrets_widened"]
    assert [one["type"] for one in (await client.stored(target))["triggers"]] == ["schedule"]


async def test_what_the_runs_of_one_automation_author_shares_its_daily_cap(bench: Bench) -> None:
    client = CapabilityClient(bench)
    tools = [{"tool": "save_automation_draft"}, UPDATE, {"tool": "get_board"}]

    def made(name: str, cap: float, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "source": "return 1;",
            "triggers": [CRON],
            "cost_cap_daily_usd": cap,
            "tool_grants": [{"tool": "get_board"}],
            **more,
        }

    inner = f"const DRAFTS = {json.dumps([made('grandchild', 0.5), made('fits', 0.1)])};\n{SAVES}"
    drafts = [
        made("child", 0.6, source=inner, tool_grants=tools),
        made("too much", 0.6),
        made("rest", 0.3),
    ]
    async with bench.worker():
        child, refused, rest = await _run(
            client,
            f"const DRAFTS = {json.dumps(drafts)};\n{SAVES}",
            name="author",
            cost_cap_daily_usd=1,
            tool_grants=tools,
        )
        assert refused == WIDER
        assert await client.names() == ["author", "child", "rest"]
        # What a run made waits for a person.
        await agree_to_all(bench.application.database, bench.application.workspace_id)
        ran = await client.call("run_automation_once", {"automation_id": child, "dry_run": False})
        output = (await bench.read(UUID(ran["run_id"])))["output"]
        assert output[0] == WIDER, "what it authored has no purse of its own"
        assert await client.names() == ["author", "child", "rest", "fits"]

        raised = await _edit(
            client,
            "other",
            rest,
            [{"cost_cap_daily_usd": 0.9}, {"cost_cap_daily_usd": 0.2}],
            [{"tool": "get_board"}],
            cost_cap_daily_usd=1,
        )
        assert raised == [WIDER, None], "another's purse is not its to give from"
    metadata = [(await client.stored(one))["definition"]["metadata"] for one in (child, output[1])]
    assert len({one["authored_by_automation"] for one in metadata}) == 1
