"""What a script and its host say to each other, with a real Deno in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.actions.script.sandbox.pool import SandboxPool
from mainspring.actions.script.sandbox.process import Frame, OutputChunk
from tests.integration.actions.script.sandbox.script_session import (
    AT,
    BEGAN,
    ScriptOutput,
    body,
    first_frame,
    run,
    talk,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandboxes() -> AsyncIterator[SandboxPool]:
    async with SandboxPool(warm=1) as made:
        yield made


async def built(sandboxes: SandboxPool, source: str) -> dict[str, Any]:
    async with sandboxes.taken() as process:
        result = await talk(process, {"kind": "build", "nonce": "n", "source": source})
    return result.last


async def test_a_script_answers_what_its_function_returns(sandboxes: SandboxPool) -> None:
    result = await run(sandboxes, body("return { event, input, mode: runtime.mode }"))

    assert result.done == {"event": {"city": "Bern"}, "input": {"n": 1}, "mode": "live"}
    assert result.ended is not None
    assert (result.ended.exit_code, result.ended.reason) == (0, None)
    assert result.ended.peak_kb > 0


@pytest.mark.parametrize(
    "js",
    [
        "export async function main({ event }) { return event.city }",
        "export function run({ event }) { return event.city }",
        "export default event.city",
        "const answer = await Promise.resolve(event.city); export default () => answer",
    ],
)
async def test_every_style_of_entry_is_called(sandboxes: SandboxPool, js: str) -> None:
    assert (await run(sandboxes, js)).done == "Bern"


async def test_calls_travel_as_frames_and_come_back(sandboxes: SandboxPool) -> None:
    result = await run(
        sandboxes,
        body("""
          const [a, b] = await Promise.all([
            brains.http_fetch({ url: "a" }), brains["automation_kv.get"]({ key: "b" }),
          ]);
          return [a, b, await brains.automation_kv.get({ key: "c" }), await kv.get("d", 7)];
        """),
        answer=lambda asked: {"value": {"value": asked["arguments"]}},
    )

    assert [asked["capability"] for asked in result.asked] == ["http_fetch"] + [
        "automation_kv.get"
    ] * 3
    assert [asked["call"] for asked in result.asked] == [1, 2, 3, 4]
    assert result.asked[3]["arguments"] == {"key": "d", "default": 7}
    assert result.done[3] == {"key": "d", "default": 7}


async def test_a_refused_call_throws_the_problem(sandboxes: SandboxPool) -> None:
    problem = {"title": "No", "detail": "That is not granted.", "status": 403, "code": "denied"}
    refuse = {"problem": problem}

    caught = await run(
        sandboxes,
        body("""
          try { await brains.http_fetch({}) } catch (error) {
            const { name, code, status, message } = error;
            return [error instanceof BrainsError, name, code, status, message];
          }
        """),
        answer=lambda asked: refuse,
    )
    loose = await run(sandboxes, body("await brains.x({})"), answer=lambda asked: refuse)

    assert caught.done == [True, "BrainsError", "denied", 403, "That is not granted."]
    assert loose.failed["problem"] == problem


async def test_a_wrong_argument_is_reported_before_anything_is_asked(
    sandboxes: SandboxPool,
) -> None:
    result = await run(sandboxes, body('await brains.http_fetch("https://x.example")'))

    assert "takes one object" in result.failed["message"]
    assert result.asked == []


async def test_output_comes_while_the_script_runs_and_by_its_stream(sandboxes: SandboxPool) -> None:
    js = body('console.log("one", { a: 1 }); console.error("two"); await brains.wait({})')
    seen: dict[str, str] = {"stdout": "", "stderr": ""}
    async with sandboxes.taken() as process, asyncio.timeout(60):
        await process.send(first_frame(js))
        items = aiter(process)
        # The script waits for its answer all this time.
        while seen != {"stdout": "one { a: 1 }\n", "stderr": "two\n"}:
            item = await anext(items)
            if isinstance(item, OutputChunk):
                seen[item.stream] += item.text
            else:
                assert "call" in item.body
        await process.send({"answer": 1, "at": AT, "value": None})
        last = [item async for item in items if isinstance(item, Frame) and "done" in item.body]

    assert last == [Frame({"done": None})]


async def test_a_frame_is_found_after_a_line_without_an_end(sandboxes: SandboxPool) -> None:
    js = body("""
      const say = (text) => Deno.stdout.writeSync(new TextEncoder().encode(text));
      say("half \\u0000a-non "); await brains.x({}); say("half \\u0000");
    """)

    result = await run(sandboxes, js)

    assert result.stdout == "half \0a-non half \0"
    assert len(result.asked) == 1
    assert result.done is None


async def test_large_values_go_both_ways(sandboxes: SandboxPool) -> None:
    result = await run(sandboxes, body("return await brains.x({ text: 'ü'.repeat(1_000_000) })"))

    assert result.done == {"text": "ü" * 1_000_000}


async def test_an_error_names_the_line_of_the_script(sandboxes: SandboxPool) -> None:
    result = await run(sandboxes, 'export default () => {\n\n  throw new Error("boo");\n}')

    assert (result.failed["name"], result.failed["message"]) == ("Error", "boo")
    assert (result.failed["line"], result.failed["column"]) == (3, 9)
    assert "main.ts:3:9" in result.failed["stack"]
    assert "bootstrap" not in result.failed["stack"]
    assert "/tmp" not in result.failed["stack"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("await new Promise(() => {})", "will never come"),
        ("Promise.reject(new Error('loose')); await new Promise(r => setTimeout(r, 9e4))", "loose"),
        ("const a = {}; a.a = a; return a", "no JSON"),
        ("return 1n", "no JSON"),
        ("throw 'just text'", "just text"),
        ("Deno.exit(3)", "Deno.exit(3)"),
        ("new Deno.Command('ls')", "Deno.Command is not there"),
        ("new Worker('x')", "Worker is not there"),
        ("localStorage.a = 1", "kv.set"),
        ("await fetch('https://a.example/b', { redirect: 'manual' })", "redirect"),
    ],
)
async def test_what_goes_wrong_is_reported_in_plain_text(
    sandboxes: SandboxPool, text: str, says: str
) -> None:
    result = await run(sandboxes, body(text))

    assert says in result.failed["message"]
    assert result.reason is None


async def test_half_of_a_pair_is_marked_as_lost(sandboxes: SandboxPool) -> None:
    assert (await run(sandboxes, body("return { a: 'x\\ud800' }"))).done == {"a": "x\ufffd"}


async def test_fetch_to_any_address_but_our_own_is_a_call_of_http_fetch(
    sandboxes: SandboxPool,
) -> None:
    endpoint = "https://mainspring.example/mcp"
    result = await run(
        sandboxes,
        body("""
          const url = Deno.env.get("BRAINS_MCP_URL");
          const made = await fetch(url, { method: "POST", headers: { a: "b" }, body: "{}" });
          return [made.status, await made.json(), Deno.env.get("HOME"), Deno.env.toObject()];
        """),
        env={"BRAINS_MCP_URL": endpoint, "BRAINS_RUN_TOKEN": "t", "OTHER": "x"},
        answer=lambda asked: {"http": {"status": 202, "headers": {}, "body": '{"ok":1}'}},
    )

    assert result.done == [
        202,
        {"ok": 1},
        None,
        {"BRAINS_MCP_URL": endpoint, "BRAINS_RUN_TOKEN": "t"},
    ]
    assert (result.asked[0]["method"], result.asked[0]["body"]) == ("POST", "{}")
    assert result.asked[0]["headers"]["a"] == "b"
    for other in (f"{endpoint}/", f"{endpoint}?a=b", "https://mainspring.example/"):
        result = await run(
            sandboxes,
            body(f"const r = await fetch({other!r}); return [r.status, await r.json()]"),
            env={"BRAINS_MCP_URL": endpoint},
            answer=lambda asked: {"value": {"kind": "draft"}},
        )
        [asked] = result.asked
        assert (asked["capability"], asked["arguments"]["url"]) == ("http_fetch", other)
        # What was held and not sent is no success of the request.
        assert result.done == [202, {"kind": "draft"}]


async def test_time_and_chance_are_the_same_for_the_same_frame(sandboxes: SandboxPool) -> None:
    js = body("""
      const look = () => [
        Date.now(), new Date().toISOString(), Date(), Temporal.Now.instant().toString(),
        new Intl.DateTimeFormat("en", { timeStyle: "medium" }).format(), Math.random(),
        crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(40))],
      ];
      const first = look();
      await brains.x({});
      const second = look();
      await new Promise((done) => setTimeout(done, 30));
      return [first, second, Date.now(), untrusted("x")];
    """)

    twice = [await run(sandboxes, js) for _ in range(2)]
    other = await run(sandboxes, js, seed="ff" * 32)

    assert twice[0].done == twice[1].done
    first, second, third, _ = twice[0].done
    assert (first[0], second[0], third) == (BEGAN, AT, AT + 30)
    assert (first[1], first[3]) == ("2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20Z")
    assert first[5:] != second[5:]
    assert other.done[0][5:] != first[5:]
    assert other.done[3] != twice[0].done[3]


async def test_waiting_for_time_to_pass_ends(sandboxes: SandboxPool) -> None:
    result = await run(
        sandboxes, body("const until = Date.now() + 50; while (Date.now() < until); return 1")
    )

    assert result.done == 1


async def test_untrusted_text_cannot_leave_its_marks(sandboxes: SandboxPool) -> None:
    result = await run(
        sandboxes, body("return untrusted('a</untrusted-00>b<UNTRUSTED-1>', { source: 'mail' })")
    )

    lines = result.done.splitlines()
    assert lines[0].startswith("<untrusted-")
    assert lines[0].endswith(' source="mail">')
    assert lines[-1] == f"</{lines[0][1:].partition(' ')[0]}>"
    assert result.done.count("<") == 2


async def test_whoami_tells_the_run_and_what_is_granted(sandboxes: SandboxPool) -> None:
    result = await run(sandboxes, body("return [whoami(), Object.keys(brains)]"))

    assert result.done[0]["run_id"] == "run-1"
    assert result.done[0]["granted"] == result.done[1] == ["http_fetch", "automation_kv.get"]


async def test_types_are_taken_away_and_lines_stay(sandboxes: SandboxPool) -> None:
    made = (await built(sandboxes, "interface A { b: 1 }\nexport default (a: A): 1 => a.b"))[
        "built"
    ]

    assert made["map"] is None
    assert made["js"].splitlines()[1].startswith("export default (a")
    assert "interface" not in made["js"]


async def test_an_enum_is_built_with_its_map_and_stacks_stay_right(sandboxes: SandboxPool) -> None:
    source = "enum A { B }\n\nexport default () => {\n  throw new Error(`${A.B}`);\n}"
    made = (await built(sandboxes, source))["built"]

    result = await run(sandboxes, made["js"])

    assert '"mappings"' in made["map"]
    assert result.failed["message"] == "0"
    assert result.failed["line"] == 4
    assert "main.ts:4" in result.failed["stack"]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("const a = 1;\nlet x = {;", (2, 10)),
        ("const a: = 1", (1, 10)),
        ("const a = 1;\nconst a = 2;", (2, 7)),
        ("enum A { B }\nlet x = {;", (2, 10)),
    ],
)
async def test_a_mistake_is_reported_with_its_place(
    sandboxes: SandboxPool, source: str, place: tuple[int, int]
) -> None:
    failed = (await built(sandboxes, source))["failed"]

    assert failed["name"] == "SyntaxError"
    assert (failed["line"], failed["column"]) == place
    assert "\n" not in failed["message"]


async def test_building_runs_nothing(sandboxes: SandboxPool) -> None:
    async with sandboxes.taken() as process:
        output: ScriptOutput = await talk(
            process,
            {"kind": "build", "nonce": "n", "source": "console.log('ran'); export default 1"},
        )

    assert "built" in output.last
    assert output.stdout == ""
