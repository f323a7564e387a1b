"""What the inbox makes of questions and standing rules, run without a browser."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kit.page_scripts import DESK, worked_out

AN_ID = "01900000-0000-7000-8000-0000000000ff"
FORM = {
    "type": "object",
    "required": ["day", "seats"],
    "properties": {
        "day": {"type": "string", "format": "date", "title": "Which day"},
        "seats": {"type": "integer", "maximum": 40, "default": 12},
        "room": {"enum": ["Lisbon", "Porto"]},
        "lunch": {"type": "boolean"},
        "note": {"type": "string", "title": "For <b>guests</b>"},
    },
}
QUESTION = {
    "approval_id": AN_ID, "automation_id": AN_ID, "automation": "Offsite", "run_id": AN_ID,
    "step": "ask", "status": "pending", "title": "When \u202e?", "message": "Say it.",
    "form": FORM, "default": None, "roles": None, "created_at": "2026-01-01T00:00:00Z",
    "expires_at": "2026-01-02T00:00:00Z",
}  # fmt: skip
RULE = {
    "rule_id": AN_ID, "automation_id": AN_ID, "automation": "Digest", "version": 1,
    "capability": "gmail.send_email", "status": "proposed", "seen": 5, "uses": 3,
    "pattern": {"to": ["ada@x.org", "b@x.org"], "cc": [], "labels": ["a", "b"], "number": 4},
    "decided_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
_WORLD = """
    const asked = [], done = [];
    let refusal = null;
    globalThis.fetch = async (url, { method, body }) => {
      asked.push([method, url, body === undefined ? null : JSON.parse(body)]);
      const [found, status] = [refusal ?? {}, refusal ? 422 : 200];
      return { ok: !refusal, status, json: async () => found };
    };
    const settle = () => new Promise((over) => setTimeout(over, 0));
    const owner = { role: "owner" };
    const named = (card, word) => [...card.all()].filter((one) => one.name === word);
    const button = (card, words) => named(card, "button").find((one) => one.text === words);
"""


FINDINGS = [
    {"pointer": "/answer/day", "detail": "The key 'day' is missing.", "code": "required"},
    {"pointer": "/answer/seats", "detail": "At most 40.", "code": "maximum"},
]


def test_a_question_is_a_form_whose_findings_stand_at_their_fields(tmp_path: Path) -> None:
    told = worked_out(
        f"""
        {DESK}{_WORLD}
        Leaf.prototype.focus = function () {{ focused = this.id; }};
        Leaf.prototype.querySelectorAll = function (wanted) {{
          return [...this.all()].filter((one) => one.name === wanted);
        }};
        let focused = null;
        const {{ begun, questionCard }} = await import("@/asking.js");
        const question = {json.dumps(QUESTION)};
        const card = questionCard(owner, question, async (_, decision) => done.push(decision));
        const at = (name) => byId(`at/{AN_ID}/answer/${{name}}`);
        const send = async () => {{
          named(card, "form")[0].heard.submit({{ preventDefault: () => {{}} }});
          await settle();
        }};
        at("seats").value = "400";
        at("seats").fire("input");
        refusal = {{ detail: "No.", errors: {json.dumps(FINDINGS)} }};
        await send();
        const wrong = [...card.all()].filter((one) => one.className === "flag wrong");
        const said = wrong.map((one) => one.text);
        refusal = null;
        at("day").value = "2026-12-10";
        at("day").fire("input");
        at("seats").value = "14";
        at("seats").fire("input");
        await send();
        const bare = questionCard(owner, {{ ...question, form: null }}, async () => {{}});
        const others = questionCard({{ role: "admin" }}, {{ ...question, roles: ["owner"] }});
        const one = {{ ...question, form: {{ type: "string" }}, default: "Osprey" }};
        console.log(JSON.stringify({{
          said, focused, done, asked, text: card.text, date: at("day").attributes.type,
          left: [...card.all()].filter((one) => one.className === "flag wrong").length,
          begun: [begun({{ type: "boolean" }}), begun({{ type: "string" }}) ?? null],
          bare: named(bare, "button").map((one) => one.text), others: others.text,
          closed: named(others, "button").length, one: questionCard(owner, one).text,
        }}));
        """,
        tmp_path,
    )
    assert told["said"] == ["This is asked for.", "At most 40."]
    assert told["focused"] == f"at/{AN_ID}/answer/day"
    assert told["date"] == "date"
    first, second = (one[2] for one in told["asked"])
    assert first == {"decision": "approved", "answer": {"seats": 400, "lunch": False}}
    assert second["answer"] == {"seats": 14, "lunch": False, "day": "2026-12-10"}
    assert {one[1] for one in told["asked"]} == {f"/api/v1/approvals/{AN_ID}/answer"}
    assert (told["done"], told["left"]) == (["approved"], 0)
    for words in ("When \\u202e?", "Say it.", "Which day", "For <b>guests</b>", "may be left out"):
        assert words in told["text"], words
    assert told["begun"] == [False, None]
    assert told["bare"] == ["Approve", "Decline"]
    assert told["closed"] == 0
    assert "answering takes owner" in told["others"]
    assert "the answer is Osprey" in told["one"]


def test_a_rule_says_to_whom_it_lets_go_and_is_decided_with_one_press(tmp_path: Path) -> None:
    told = worked_out(
        f"""
        {DESK}{_WORLD}
        Leaf.prototype.querySelectorAll = function () {{ return []; }};
        const {{ patternWords, ruleCard }} = await import("@/rules.js");
        const rule = {json.dumps(RULE)};
        const tell = async (words) => done.push(words);
        const card = ruleCard(owner, rule, tell);
        const active = ruleCard(owner, {{ ...rule, status: "active" }}, tell);
        for (const [one, words] of [[card, "Let these go by themselves"], [card, "Keep asking me"],
          [active, "Withdraw"]]) {{
          button(one, words).fire("click");
          await settle();
        }}
        const looking = ruleCard({{ role: "operator" }}, rule, tell);
        console.log(JSON.stringify({{
          words: patternWords(rule.pattern), odd: patternWords({{ channel: "C\\u202e1" }}),
          card: card.text, active: active.text, asked, done,
          looking: named(looking, "button").length,
        }}));
        """,
        tmp_path,
    )
    assert told["words"] == {"goes": "ada@x.org, b@x.org; number 4", "always": ["labels: a, b"]}
    assert told["odd"] == {"goes": "C\\u202e1", "always": []}
    assert "5 drafts of this shape" in told["card"]
    assert "Let go so far3" in told["active"]
    place = f"/api/v1/standing-rules/{AN_ID}"
    assert told["asked"] == [
        ["POST", f"{place}/decide", {"decision": "accept"}],
        ["POST", f"{place}/decide", {"decision": "decline"}],
        ["POST", f"{place}/withdraw", None],
    ]
    assert len(set(told["done"])) == 3
    assert told["looking"] == 0
