"""What the scripts of the pages work out, run without a browser."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kit.house import document, step
from tests.kit.page_scripts import PAPER, worked_out

AN_ID = "01900000-0000-7000-8000-0000000000ff"


def test_triggers_bounds_and_times_are_told_in_words(tmp_path: Path) -> None:
    told = worked_out(
        """
        import { boundWords, span, triggerWords, usd } from "@/words.js";
        const at = (cron) => triggerWords({ type: "schedule", config: { cron, timezone: "UTC" } });
        console.log(JSON.stringify({
          crons: ["30 7 * * 1-5", "*/5 * * * *", "0 9 * * *", "0 16 * * 7", "0 0 1 */2 *"].map(at),
          event: triggerWords({ type: "event", config: { event_type: "a.b", filters: {} } }),
          bounds: [["hosts", ["a.example", "b.example"]], ["hosts", []], ["max_tokens", 9],
            ["board", "CRM"], ["ids", [1, 2]]].map(([name, bound]) => boundWords(name, bound)),
          spans: [0.2, 59.9, 600, 3661, 200000].map(span),
          money: [0, 0.5, 0.000012, 1].map(usd),
        }));
        """,
        tmp_path,
    )
    assert told == {
        "crons": [
            "Monday to Friday at 07:30, in UTC", "every 5 minutes, in UTC",
            "every day at 09:00, in UTC", "every Sunday at 16:00, in UTC",
            "on the schedule 0 0 1 */2 *, in UTC",
        ],
        "event": "at an event a.b that fits its filter",
        "bounds": [
            "at a.example, b.example", "nowhere", "tokens at most 9", "board CRM", "ids: 1, 2",
        ],
        "spans": ["200 ms", "1 min", "10 min", "1 h 1 min", "2 days 7 h"],
        "money": ["$0", "$0.50", "$0.000012", "$1.00"],
    }  # fmt: skip


def test_bounds_and_starts_are_those_of_the_automation(tmp_path: Path) -> None:
    script = step("one", "script", {"source": "return 1;"})
    slow = step("two", "script", {"source": "return 2;", "wall_seconds": 300})
    plans = {
        "alone": document(script),
        "short": document(slow, execution={"timeout_seconds": 120}),
        "several": document(script, slow),
        "none": document(step("a", "transform_data", {"output": 1})),
    }
    told = worked_out(
        f"""
        import {{ bounds }} from "@/definition.js";
        import {{ secretWords, stateWords }} from "@/words.js";
        const times = (one) => bounds(one).filter((line) => / for .* in all|killed/.test(line));
        const plans = Object.entries({json.dumps(plans)}).map(([name, one]) => [name, times(one)]);
        const started = (...triggers) => stateWords({{ state: "active", triggers }});
        console.log(JSON.stringify({{
          ...Object.fromEntries(plans),
          states: [started({{ enabled: true }}), started({{ enabled: false }}), started()],
          secrets: [["http_fetch", "headers", "a.example:443"], ["http_fetch", "url", ""],
            ["slack_post", "token", ""], ["webhook", "", ""]]
            .map(([action, part, site]) => secretWords({{ action, part, site }})),
        }}));
        """,
        tmp_path,
    )
    by_hand = "It has no trigger that is on: only a person starts it, by hand."
    assert told == {
        "alone": ["The script is killed after 60 s."],
        "short": ["The script is killed after 120 s."],
        "several": [
            "A run may work for 10 min in all.", "The script one is killed after 60 s.",
            "The script two is killed after 300 s.",
        ],
        "none": ["A run may work for 10 min in all."],
        "states": ["Its triggers start it.", by_hand, by_hand],
        "secrets": [
            "goes to a.example:443, in the headers of a request",
            "goes where a run decides, in the url of a request",
            "is used in token of slack_post", "is used by its webhook, for the signature",
        ],
    }  # fmt: skip


def test_what_brings_a_version_back_shows_the_lines_that_go_and_come(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(40)]
    source = "/plan/0/config/source"
    changed = [*lines[:20], "new \u202e line", *lines[21:]]
    changes = [
        {"op": "replace", "pointer": source, "before": "\n".join(lines),
         "after": "\n".join(changed)},
        {"op": "replace", "pointer": "/execution/timeout_seconds", "before": 60, "after": 600},
        {"op": "remove", "pointer": "/goal", "before": "Be good."},
        {"op": "add", "pointer": "/plan/1",
         "after": step("two", "script", {"source": "return 1;\nreturn 2;"})},
        {"op": "move", "pointer": "/plan/0", "from": "/plan/1"},
    ]  # fmt: skip
    told = worked_out(
        f"""
        import {{ changeLine, lineDiff }} from "@/diff.js";
        {PAPER}
        const many = (mark) => Array.from({{ length: 3000 }}, (_, n) => mark + n).join("\\n");
        console.log(JSON.stringify({{
          changes: {json.dumps(changes)}.map((one) => changeLine(one).text),
          diffs: [["a\\nb\\nc", "b\\nc\\nd"], ["", "a"], ["a\\n", "a"]].map((two) =>
            lineDiff(...two).map((one) => one.join("")).join("|")),
          much: lineDiff(many("x"), many("y")).length,
        }}));
        """,
        tmp_path,
    )
    around = ["  line 17", "  line 18", "  line 19", "- line 20", "+ new \\u202e line"]
    after = ["  line 21", "  line 22", "  line 23", "…", ""]
    assert told["changes"] == [
        f"Changed: {source}" + "\n".join(["…", *around, *after]),
        "Changed: /execution/timeout_seconds 60 → 600",
        'Gone: /goal "Be good."',
        "New: /plan/1 two script1\n2return 1;\nreturn 2;",
        "Moved: /plan/0 from /plan/1",
    ]
    assert told["diffs"] == ["-a| b| c|+d", "-|+a", " a"]
    assert told["much"] == 6000


def test_what_an_agent_does_is_shown_in_words_and_only_ever_as_text(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>\x1b[2J\u202e"
    turn = {"turn": 2, "model": "m-1", "input_tokens": 1000, "output_tokens": 50}
    given = [
        {"kind": "thought", "text": f"Hm.\n{evil}"},
        {"kind": "call", "tool": "a.b", "arguments": {"q": 1}},
        {"kind": "result", "tool": "a.b", "outcome": "held", "text": {"n": 1}},
        {"kind": "refused", "tool": evil, "arguments": {}, "text": "No such tool."},
        {"kind": "told", "text": "Give your answer."},
        {"kind": "turn", **turn, "cost_usd": 0.01, "total_usd": 0.02},
        {"kind": "answer", "how": "done", "output": {"n": 1}, "text": ""},
        {"kind": "answer", "how": "nothing", "text": "No mail.", "output": None},
        {"kind": "thought", "text": "long " * 100},
        {"kind": "toString"}, None, 7, {"kind": "turn"},
    ]  # fmt: skip
    told = worked_out(
        f"""
        import {{ agentPiece }} from "@/agent.js";
        {PAPER}
        const lines = {json.dumps(given)}.map((one) => agentPiece(JSON.stringify(one)));
        const names = (one) => (one?.held ? [one.name, ...one.held.flatMap(names)] : []);
        console.log(JSON.stringify({{
          texts: lines.map((one) => one && one.text),
          names: [...new Set(lines.flatMap(names))],
          none: agentPiece("no JSON"),
        }}));
        """,
        tmp_path,
    )
    shown = "<img src=x onerror=alert(1)>\\u001b[2J\\u202e"
    long = ("long " * 60).rstrip()
    assert told["texts"] == [
        f"thinks: Hm. {shown}", '→ a.b { "q": 1 }', '← a.b waits for a person: { "n": 1 }',
        f"→ {shown} {{}} was not done: No such tool.", "is told: Give your answer.",
        "turn 2: m-1, 1,050 tokens, $0.01 ($0.02 so far)", 'answers: { "n": 1 }',
        "nothing to do: No mail.", f"thinks: {long} …{'long ' * 100}", None, None, None,
        "turn 0: , 0 tokens, $0 ($0 so far)",
    ]  # fmt: skip
    # What a model says makes no element of its own.
    assert told["names"] == ["div", "span", "details", "summary"]
    assert told["none"] is None


def test_who_is_not_signed_in_goes_to_sign_in_and_comes_back_to_pages_of_ours_alone(
    tmp_path: Path,
) -> None:
    told = worked_out(
        f"""
        import {{ ask, arrive, wantedPage }} from "@/page.js";
        const kept = new Map(), gone = [], none = {{}};
        const put = (name, value) => Object.defineProperty(globalThis, name, {{ value }});
        put("localStorage", {{
          getItem: (key) => kept.get(key) ?? null,
          setItem: (key, value) => kept.set(key, value),
          removeItem: (key) => kept.delete(key),
        }});
        put("location", {{
          pathname: "/automations/{AN_ID}", hash: "#run-{AN_ID}", replace: (to) => gone.push(to),
        }});
        put("document", {{ getElementById: () => none }});
        put("fetch", async () => new Response("{{}}", {{ status: 401 }}));
        arrive(() => gone.push("filled"));
        await new Promise((done) => setTimeout(done, 0));
        const back = [wantedPage(), wantedPage()];
        const led = (path, at = Date.now()) => {{
          kept.set("mainspring.wanted", JSON.stringify({{ path, at }}));
          return wantedPage();
        }};
        console.log(JSON.stringify({{
          gone, back,
          ours: ["/automations", "/inbox", "/new", "/proposals/{AN_ID}"].map((path) => led(path)),
          stale: led("/inbox", Date.now() - 16 * 60 * 1000),
          foreign: ["//evil.example", "https://evil.example/inbox", "/\\\\evil.example",
            "/inbox/../x", "javascript:alert(1)", "/inbox?x=//evil.example", "/automations/x",
            "/proposals", "/proposals/x", "/new/x", 7, null].map((path) => led(path)),
        }}));
        """,
        tmp_path,
    )
    assert told["gone"] == ["/sign-in"]
    assert told["back"] == [f"/automations/{AN_ID}#run-{AN_ID}", "/"]
    assert told["ours"] == ["/automations", "/inbox", "/new", f"/proposals/{AN_ID}"]
    assert told["stale"] == "/"
    assert set(told["foreign"]) == {"/"}


def test_a_draft_is_shown_as_it_arrives_and_edited_field_by_field(tmp_path: Path) -> None:
    file = {"filename": "a.pdf", "mime_type": "application/pdf", "bytes": 17, "sha256": "00"}
    letter = {"to": ["ada@x.org", "b@x.org"], "subject": "Hi", "body": "One\nTwo", "odd": "\u202e"}
    drafts = {
        "mail": {"family": "email", "within": "input", "arguments": {
            "input": {**letter, "attachments": [file]}, "install_id": "here"}},
        "event": {"family": "event", "within": "", "arguments": {
            "summary": "Lunch", "start": "2026-08-01", "end": "2026-08-02"}},
        "other": {"family": "", "within": "", "arguments": {"n": 1}},
    }  # fmt: skip
    told = worked_out(
        f"""
        {PAPER}
        const {{ delivered }} = await import("@/delivering.js");
        const {{ changes, editsOf }} = await import("@/editing.js");
        const drafts = {json.dumps(drafts)};
        const before = {{ to: ["a@x.org"], body: "x", cc: ["c@x.org"], n: {{ a: 1 }} }};
        const spelt = JSON.stringify(before.n, null, 2);
        const same = {{ to: "a@x.org", body: "x", cc: "c@x.org", n: spelt }};
        const more = {{ cc: " ", bcc: "d", n: '{{"a": 2}}' }};
        const written = {{ to: "b@x.org, c@x.org", body: "y", ...more }};
        let broken = false;
        try {{ changes(before, {{ n: "{{" }}); }} catch {{ broken = true; }}
        const shown = ([name, one]) => [name, delivered(one).text];
        console.log(JSON.stringify({{
          shown: Object.fromEntries(Object.entries(drafts).map(shown)),
          same: changes(before, same).length,
          edits: editsOf(changes(before, written)),
          broken,
        }}));
        """,
        tmp_path,
    )
    for words in ("ada@x.org, b@x.org", "Hi", "One\nTwo", "a.pdf, application/pdf, 17", "here"):
        assert words in told["shown"]["mail"], words
    assert "\u202e" not in told["shown"]["mail"]
    assert "Lunch" in told["shown"]["event"]
    assert "1" in told["shown"]["other"]
    assert told["same"] == 0
    assert told["edits"] == {
        "to": ["b@x.org", "c@x.org"], "body": "y", "cc": None, "bcc": "d", "n": {"a": 2},
    }  # fmt: skip
    assert told["broken"]
