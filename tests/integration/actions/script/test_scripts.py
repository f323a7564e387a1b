"""Scripts as steps of a plan: what they call, what they may not, and what is reported."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest

from mainspring.actions.script.runner import SOURCE_CHARACTERS
from mainspring.definition.validate import validate
from mainspring.runs.output import read_output
from tests.kit.bench import Bench, document, step
from tests.kit.scripts import SDK, script


async def _said(bench: Bench, run: dict[str, Any], stream: str) -> str:
    async with bench.application.database.acquire() as connection:
        pieces = await read_output(connection, bench.application.workspace_id, run["id"])
    return "".join(piece["text"] for piece in pieces if piece["stream"] == stream)


async def test_a_script_calls_what_it_was_granted_and_returns_its_value(bench: Bench) -> None:
    source = """
        const a = await brains["test.echo"]({ n: 20 });
        console.log("have", a);
        console.error("careful");
        return a.n + 22;
    """
    run = await bench.run(script(source, "test.echo"))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == 42
    (call,) = run["calls"]
    assert (call["capability"], call["outcome"]) == ("test.echo", "read")
    assert await _said(bench, run, "out") == "have { n: 20 }\n"
    assert await _said(bench, run, "err") == "careful\n"
    end = json.loads(await _said(bench, run, "end"))
    assert (end["exit_code"], end["reason"]) == (0, None)


async def test_an_exported_function_is_given_everything_it_needs(bench: Bench) -> None:
    source = """
        type Given = { brains: any; input: { who: string }; trigger: unknown; runtime: any };
        export default async function main({ brains, input, runtime }: Given): Promise<unknown> {
            const answer = await brains["test.echo"]({ who: input.who });
            return { ...answer, step: runtime.step };
        }
    """
    plan = script(source, "test.echo", input={"who": "{{ inputs.who }}"}, sdk=False)
    plan["inputs"] = {
        "schema": {"type": "object", "properties": {"who": {"type": "string", "default": "me"}}}
    }
    run = await bench.run(plan)
    assert run["output"] == {"who": "me", "step": "main"}, run["error"]


async def test_a_script_that_violates_its_output_schema_fails_and_is_not_retried(
    bench: Bench,
) -> None:
    source = """
        await brains["test.note"]({ mark: "x" });
        return { total: "12" };
    """
    shape = {"type": "object", "properties": {"total": {"type": "integer"}}}
    run = await bench.run(script(source, "test.note", output_schema=shape))
    assert (run["status"], run["error"]["status"], run["error"]["code"]) == (
        "failed",
        422,
        "output_invalid",
    )
    assert "does not match its output_schema" in run["error"]["detail"]
    assert run["error"]["errors"][0]["pointer"] == "/total"
    assert run["error"]["suggestion"]
    assert len(run["calls"]) == 1
    assert [one["attempt"] for one in run["steps"]] == [1]


async def test_what_was_not_granted_is_refused_by_the_gate_and_not_by_the_sdk(
    bench: Bench,
) -> None:
    source = """
        const name = ["test", "note"].join(".");
        try { await brains[name]({ mark: "x" }); } catch (error) {
            return { name: error.name, code: error.code, status: error.status };
        }
    """
    run = await bench.run(script(source, "test.echo"))
    assert run["output"] == {"name": "BrainsError", "code": "not_granted", "status": 403}
    assert bench.outside.keys == {}
    assert [call["outcome"] for call in run["calls"]] == ["denied"]


async def test_a_refusal_that_nobody_catches_is_the_problem_of_the_step(bench: Bench) -> None:
    run = await bench.run(
        script('await brains["test.flaky"]({ failures: 9, permanent: true });', "test.flaky")
    )
    assert run["status"] == "failed"
    assert run["error"]["code"] == "never"


async def test_what_a_script_throws_is_reported_with_its_line(bench: Bench) -> None:
    run = await bench.run(script('const a = 1;\nthrow new TypeError("no such thing");'))
    assert run["status"] == "failed"
    assert run["error"]["code"] == "script_failed"
    assert "TypeError: no such thing (main.ts, line 3" in run["error"]["detail"]
    assert len(run["steps"]) == 1, "what it throws it throws again: one try is enough"


@pytest.mark.parametrize(
    ("config", "pointer", "code"),
    [
        ({"source": 'import fs from "node:fs";'}, "/plan/0/config/source", "script_import"),
        ({"source": "const x = ;"}, "/plan/0/config/source", "script_syntax"),
        ({"source": SDK + "await brains.get_bord({});"}, "/plan/0/config/source", None),
        ({"source": 'console.log("{{api_key}}")'}, "/plan/0/config/source", "template_secret"),
        ({"source": SDK + "await brains.admin_list_users({});"}, "/plan/0/config/source", None),
        ({"source": "1", "grants": [{"tool": "get_bord"}]}, "/plan/0/config/grants/0/tool", None),
        ({"source": "1", "wall_seconds": 4}, "/plan/0/config/wall_seconds", None),
        ({"source": "x" * (SOURCE_CHARACTERS + 1)}, "/plan/0/config/source", None),
        ({}, "/plan/0/config/source", "required"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_saved(
    config: dict[str, Any], pointer: str, code: str | None, bench_words: Any
) -> None:
    registry, limits = bench_words
    report = validate(document(step("main", "script", config)), registry, limits)
    assert report.definition is None
    assert pointer in [finding.pointer for finding in report.findings], report.findings
    if code is not None:
        assert code in [finding.code for finding in report.findings]


async def test_a_script_holds_a_token_that_calls_only_what_was_granted(bench: Bench) -> None:
    source = """
        const url = Deno.env.get("BRAINS_MCP_URL"), token = Deno.env.get("BRAINS_RUN_TOKEN");
        const ask = async (name) => {
            const answer = await fetch(url, {
                method: "POST",
                headers: {
                    authorization: `Bearer ${token}`,
                    "content-type": "application/json",
                    accept: "application/json, text/event-stream",
                    "mcp-protocol-version": "2025-11-25",
                },
                body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call",
                    params: { name, arguments: { mark: "m" } } }),
            });
            return (await answer.json());
        };
        const yes = await ask("test.echo"), no = await ask("test.note");
        let outside = "reached";
        const other = "http://127.0.0.1:9/";
        try { await fetch(other); } catch (error) { outside = [error.code, error.message]; }
        return { yes: yes.result.structuredContent, no: JSON.stringify(no), outside,
            names: Object.keys(Deno.env.toObject()).sort(), form: token.slice(0, 4) };
    """
    run = await bench.run(script(source, "test.echo"))
    assert run["status"] == "succeeded", run["error"]
    result = run["output"]
    assert result["yes"] == {"mark": "m"}
    assert "test.note" in result["no"]
    assert "error" in result["no"].lower()
    assert result["outside"][0] == "not_granted"
    assert "http_fetch" in result["outside"][1]
    assert result["names"] == ["BRAINS_MCP_URL", "BRAINS_RUN_TOKEN"]
    assert result["form"] == "msr_"
    assert bench.outside.keys == {}
    tokens = await bench.application.database.fetchval("SELECT count(*) FROM run_tokens")
    assert tokens == 0, "the token is gone with the try"


async def test_money_that_is_spent_ends_the_script_after_the_call_in_flight(bench: Bench) -> None:
    source = """
        for (let turn = 0; turn < 10; turn++) {
            try { await brains["test.costly"]({ usd: "0.4" }); } catch { /* goes on */ }
            console.log("turn", turn);
        }
        return "never";
    """
    plan = script(source, "test.costly")
    plan["execution"] = {"budget_cap_usd": "1"}
    run = await bench.run(plan)
    assert run["status"] == "failed"
    assert run["error"]["code"] == "run_budget"
    assert sum(bench.outside.tries.values()) == 3
    assert "turn 3" not in await _said(bench, run, "out")


async def test_a_dry_run_pretends_what_a_script_would_change(bench: Bench) -> None:
    source = 'const a = await brains["test.note"]({ mark: "x" });\nreturn typeof a;'
    run = await bench.run(script(source, "test.note"), mode="dry_run")
    assert run["status"] == "succeeded", run["error"]
    assert [call["outcome"] for call in run["calls"]] == ["pretended"]
    assert bench.outside.keys == {}


async def test_the_output_is_bounded_and_says_so(bench: Bench) -> None:
    source = 'const line = "x".repeat(99); for (let n = 0; n < 20000; n++) console.log(line);'
    run = await bench.run(script(source))
    assert run["status"] == "succeeded", run["error"]
    stored = await _said(bench, run, "out")
    assert len(stored) < bench.application.limits.script_output_bytes + 200
    assert "was not kept" in stored


async def test_what_is_wrong_with_the_end_of_a_script_is_said(bench: Bench) -> None:
    for source, code in [
        ("for (;;) {}", "script_wall"),
        ("const all = []; for (;;) all.push(new Array(1e6).fill(1.5));", "script_memory"),
        ("return { big: 1n };", "script_failed"),
    ]:
        seconds = 300 if code == "script_memory" else 5
        made = await bench.dispatch(script(source, wall_seconds=seconds))
        async with bench.worker():
            run = await bench.until(made.run_id, patience=300)
        assert run["status"] in ("failed", "timed_out"), source
        assert run["error"]["code"] == code, run["error"]


async def test_what_a_script_says_of_models_of_its_own_only_adds(bench: Bench) -> None:
    source = """
        const mark = (usage) => console.log(`[[llm_usage]]${JSON.stringify(usage)}[[/llm_usage]]`);
        mark({ model: "own", input_tokens: 10, output_tokens: 5, cost_usd: 0.25 });
        mark({ model: "own", input_tokens: -10, output_tokens: 5, cost_usd: -100 });
        console.log("[[llm_usage]]{nonsense");
        await brains["test.echo"]({});
        return "went on";
    """
    run = await bench.run(script(source, "test.echo"))
    assert run["output"] == "went on", run["error"]
    assert run["cost_usd"] == Decimal("0.25")


async def test_a_script_that_reports_more_than_its_money_is_killed(bench: Bench) -> None:
    source = """
        console.log('[[llm_usage]]{"model":"own","input_tokens":1,"output_tokens":1,"cost_usd":7}'
            + "[[/llm_usage]]");
        await new Promise((done) => setTimeout(done, 30000));
        return "never";
    """
    run = await bench.run(script(source))
    assert run["status"] == "failed"
    assert run["error"]["code"] == "run_budget"
    end = json.loads(await _said(bench, run, "end"))
    assert (end["exit_code"], end["reason"]) == (137, "killed")


async def test_a_call_that_nobody_waits_for_is_made_and_recorded(bench: Bench) -> None:
    source = """
        brains["test.note"]({ mark: "left alone" });
        brains["test.hang"]({});
        return "done";
    """
    made = await bench.dispatch(script(source, "test.note", "test.hang"))
    async with bench.worker():
        await asyncio.wait_for(bench.outside.started.wait(), 60)
        assert (await bench.read(made.run_id))["status"] == "running"
        bench.outside.release.set()
        run = await bench.until(made.run_id)
    assert run["output"] == "done", run["error"]
    assert bench.outside.order == ["left alone"]
    assert {call["capability"] for call in run["calls"]} == {"test.note", "test.hang"}


async def test_what_follows_from_a_call_that_nobody_waits_for_is_done_too(bench: Bench) -> None:
    source = """
        const one = async (n) => {
            const a = await brains["test.echo"]({ n });
            await brains["test.note"]({ mark: String(a.n) });
        };
        for (const n of [1, 2, 3]) one(n);
        return "done";
    """
    run = await bench.run(script(source, "test.note", "test.echo"))
    assert run["output"] == "done", run["error"]
    assert sorted(bench.outside.order) == ["1", "2", "3"]


async def test_a_refusal_that_nobody_waits_for_fails_the_script(bench: Bench) -> None:
    source = 'brains["test.flaky"]({ failures: 9, permanent: true });\nreturn "done";'
    run = await bench.run(script(source, "test.flaky"))
    assert (run["status"], run["error"]["code"]) == ("failed", "never")
