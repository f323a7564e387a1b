"""Scripts that get hold of their own line to the host, and what they gain by it: nothing.

A script can learn the mark of its frames. Whatever it then says is judged like any call, and
what cannot be understood is an end like any other: never a fault of ours.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.kit.bench import Bench
from tests.kit.scripts import script

# Finds the mark out and writes frames of its own.
FORGE: Final = r"""
    const { encode } = TextEncoder.prototype;
    let mark = "";
    TextEncoder.prototype.encode = function (said) {
        if (said.startsWith("\0")) mark = said.slice(0, said.indexOf(" ") + 1);
        return encode.call(this, said);
    };
    await brains["test.echo"]({});
    const forge = (said) => {
        const bytes = encode.call(new TextEncoder(), mark + said + "\n");
        for (let n = 0; n < bytes.length;) n += Deno.stdout.writeSync(bytes.subarray(n));
    };
    const rest = () => new Promise((done) => setTimeout(done, 200));
"""

ODD: Final[list[Any]] = [
    {"call": {"a": 1}, "capability": "test.echo", "arguments": {}},
    {"call": None},
    {"answer": 1},
    {"call": 904, "capability": 7, "arguments": []},
    {"call": "x", "capability": None},
    {"mcp": 901},
    {"mcp": [1], "method": 7, "headers": 7, "body": 7},
    {"kind": "run", "js": "1"},
    {},
    {"mcp": 902, "method": "TRACE", "headers": {"a": [1], "host": "evil"}, "body": {}},
    {"mcp": 903, "method": "POST", "headers": {"authorization": "Bearer msr_x"}, "body": "{}"},
]


async def test_a_forged_call_is_judged_like_any_other(bench: Bench) -> None:
    overrides = [
        {"call": 77, "capability": "test.note", "arguments": {"mark": "x"}},
        {
            "call": 78,
            "capability": "test.note",
            "arguments": {},
            "actor": "member",
            "grants": ["*"],
        },
        {"call": 79, "capability": "secrets.set", "arguments": {"name": "a", "value": "b"}},
        {"call": 80, "capability": "admin_list_users", "arguments": {}, "mode": "live"},
    ]
    source = f"{FORGE} for (const one of {json.dumps(overrides)}) forge(JSON.stringify(one)); await rest();"  # noqa: E501

    run = await bench.run(script(source, "test.echo"))

    assert run["status"] == "succeeded", run["error"]
    outcomes = [(call["capability"], call["outcome"]) for call in run["calls"]]
    assert outcomes[0] == ("test.echo", "read")
    assert {outcome for _, outcome in outcomes[1:]} <= {"denied", "failed"}
    assert ("test.note", "denied") in outcomes
    assert bench.outside.keys == {}


async def test_frames_that_make_no_sense_are_no_fault_of_ours(bench: Bench) -> None:
    source = (
        f"{FORGE} for (const one of {json.dumps(ODD)}) forge(JSON.stringify(one)); await rest();"
        'return await brains["test.echo"]({ fine: 1 });'
    )

    run = await bench.run(script(source, "test.echo"))

    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == {"fine": 1}


async def test_what_is_no_frame_ends_the_script(bench: Bench) -> None:
    for output in ("{nonsense", "[]", "7", '{"built": {"js": "1"}}', "[" * 2000):
        plan = script(f"{FORGE} forge({json.dumps(output)}); await rest();", "test.echo")
        plan["plan"][0]["max_retries"] = 0
        run = await bench.run(plan)
        assert run["status"] == "failed", output
        assert run["error"]["code"] in {"script_left", "script_crashed"}, output


async def test_the_first_last_word_counts_and_nothing_after_it(bench: Bench) -> None:
    after = {"call": 1000, "capability": "test.note", "arguments": {"mark": "late"}}
    source = (
        f"{FORGE} forge(JSON.stringify({{ done: 'first' }}));"
        f'for (let n = 0; n < 50; n++) forge({json.dumps(json.dumps(after))}); return "second";'
    )

    run = await bench.run(script(source, "test.echo", "test.note"))

    assert (run["status"], run["output"]) == ("succeeded", "first")
    assert [call["capability"] for call in run["calls"]] == ["test.echo"]
    assert bench.outside.keys == {}


async def test_what_a_script_makes_up_about_its_end_is_reported_in_bounds(bench: Bench) -> None:
    """A name of millions of signs, a problem that nobody had, a line that is none."""
    for failed in (
        '{ failed: { name: "n".repeat(2e6), message: "m".repeat(2e6), line: "x" } }',
        "{ failed: { name: { a: 1 }, message: [1], line: 1e9, column: {}, problem: { code: 1 } } }",
        "{ failed: 7 }",
    ):
        run = await bench.run(script(f"{FORGE} forge(JSON.stringify({failed}));", "test.echo"))
        assert (run["status"], run["error"]["code"]) == ("failed", "script_failed")
        assert len(json.dumps(run["error"])) < 2000


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("let a = 1; for (let n = 0; n < 900; n++) a = [a];", "json_depth"),
        (r'const a = "x\0y";', "json_nul"),
    ],
)
async def test_arguments_that_cannot_be_kept_are_refused_and_the_script_goes_on(
    bench: Bench, given: str, code: str | None
) -> None:
    source = f"""
        const call = brains["test.echo"];
        try {{ {given} await call({{ a }}); }}
        catch (error) {{ return error.code; }}
        return null;
    """

    run = await bench.run(script(source, "test.echo"))

    assert (run["status"], run["output"]) == ("succeeded", code)


async def test_no_patched_part_of_the_language_gives_a_script_more_than_its_own(
    bench: Bench,
) -> None:
    """It sees its own words and its own answers; it can spoil them for itself alone."""
    source = r"""
        const seen = [];
        JSON.parse = (said) => { seen.push(said); return {}; };
        JSON.stringify = () => "{}";
        Map.prototype.get = () => undefined;
        Promise.prototype.catch = () => undefined;
        Object.defineProperty(Object.prototype, "capability", { get: () => "test.note" });
        Object.defineProperty(Object.prototype, "grants", { value: ["test.note"] });
        await brains["test.echo"]({ mine: 1 });
        return seen;
    """
    run = await bench.run(script(source, "test.echo", wall_seconds=5))

    assert run["status"] in {"succeeded", "failed", "timed_out"}
    assert {call["capability"] for call in run["calls"]} <= {"test.echo"}
    assert bench.outside.keys == {}
