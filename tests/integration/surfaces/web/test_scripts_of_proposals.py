"""What the pages for proposals work out and put together, run without a browser."""

from __future__ import annotations

import json
from pathlib import Path

from mainspring.contracts.limits import Limits
from mainspring.definition.schema import definition_schema
from mainspring.surfaces.rest.answers import as_json
from mainspring.surfaces.rest.routes.schemas import template_words, words_of
from mainspring.wiring import build_registry
from tests.kit.house import document, step
from tests.kit.page_scripts import DESK, worked_out

EVIL = "<img src=x onerror=alert(1)>"
SCHEDULE = {"type": "schedule", "config": {"cron": "0 9 * * 1-5", "timezone": "UTC"}}
PLAN = document(
    step("think", "agent_task", {"prompt": f"Be brief. {EVIL}", "tools": [{"tool": "search"}]}),
    step("post", "slack_post", {"text": "{{ steps.think.text }}", "token": "{{ secrets.slack }}"}),
    step("mail", "send_email", {"to": ["a@example.org"], "subject": EVIL, "odd": {"x": 1}}),
    step("each", "for_each", {"items": "{{ inputs.x }}", "steps": [
        step("say", "notification", {"title": "Hm", "level": "error"}),
    ]}),
    step("lost", "no_such_action", {"a": 1}),
    name=EVIL, triggers=[SCHEDULE], execution={"budget_cap_usd": "0.50"},
)  # fmt: skip
QUESTIONS = [
    {"id": "channel", "kind": "value", "pointer": "/plan/1/config/channel", "others": [],
     "question": f"Which channel? {EVIL}", "why": "", "schema": {"type": "string"},
     "choices": [{"label": EVIL, "value": "#one"}]},
    {"id": "many", "kind": "value", "pointer": "/plan/1/config/n", "others": [], "why": "",
     "question": "How many?", "schema": {"type": "integer"}, "choices": []},
    {"id": "sure", "kind": "value", "pointer": "/plan/1/config/s", "others": [], "why": "",
     "question": "Sure?", "schema": {"type": "boolean"}, "choices": []},
    {"id": "when", "kind": "schedule", "pointer": "/triggers/0", "others": [], "why": "",
     "question": "When?", "schema": {}, "choices": [{"label": "at nine", "value": {"cron": "x"}}]},
    {"id": "more", "kind": "words", "pointer": "/plan", "others": [], "why": "",
     "question": "What else?", "schema": {"type": "string"}, "choices": []},
]  # fmt: skip
FLAGS = [
    {"pointer": "/plan/0/config", "code": "no_output_schema", "text": "It may answer anything.",
     "level": "note", "by": "rules", "suggestion": "Declare it."},
    {"pointer": "/plan/2/config/subject", "code": "odd", "text": EVIL, "level": "warning",
     "by": "model"},
    {"pointer": "/gone/away", "code": "odd", "text": "Nowhere.", "level": "note", "by": "rules"},
]  # fmt: skip


def _schemas() -> str:
    words = words_of(build_registry(Limits()), administrator=False)
    found = {
        "definition": definition_schema(), "vocabulary": words, "templates": template_words(),
    }  # fmt: skip
    return as_json(found).decode()


def _proposal() -> str:
    review = {"flags": FLAGS}
    shown = {"definition": PLAN, "questions": QUESTIONS, "problems": [], "review": review}
    return json.dumps(shown)


def test_what_a_person_changed_is_sent_as_edits_and_nothing_else(tmp_path: Path) -> None:
    before = {"name": "a", "plan": [{"x": 1, "y~/": {"z": [1, 2]}}, {"x": 2}], "goal": "g"}
    told = worked_out(
        f"""
        import {{ asRequest, editsBetween, put, valueAt }} from "@/pointers.js";
        import {{ insertFilter }} from "@/palette.js";
        const before = {json.dumps(before)};
        const all = (edits) =>
          edits.reduce((made, one) => put(made, one.pointer, one.value), before);
        const changed = all([{{ pointer: "/plan/0/y~0~1/z/1", value: 5 }}, {{ pointer: "/goal" }},
          {{ pointer: "/new/in", value: 1 }}]);
        const upper = {{ name: "upper", parameters: [] }};
        const swap = {{ name: "replace", parameters: ["old", "new", "count=null"] }};
        const many = Object.fromEntries(Array.from({{ length: 201 }}, (_, n) => ["k" + n, n]));
        console.log(JSON.stringify({{
          none: asRequest(editsBetween(before, structuredClone(before)), before),
          edits: editsBetween(before, changed),
          kept: before.goal,
          again: all(editsBetween(before, changed)),
          changed,
          shorter: editsBetween(before, put(before, "/plan/0", undefined)),
          whole: Object.keys(asRequest(editsBetween({{}}, many), many)),
          nowhere: ["/plan/7/x", "/plan/length", "/name/0", "/__proto__/x"]
            .map((one) => valueAt(before, one) === undefined),
          filters: [["Hi {{{{ a }}}}!", 12, upper], ["{{{{ a }}}} {{{{ b }}}}", 2, swap],
            ["{{{{ a.b + c }}}}", 4, upper], ["", 0, upper]].map((one) => insertFilter(...one)[0]),
        }}));
        """,
        tmp_path,
    )
    assert told["none"] == {}
    assert told["kept"] == "g"
    assert sorted(told["edits"], key=lambda one: str(one["pointer"])) == [
        {"pointer": "/goal", "remove": True},
        {"pointer": "/new", "value": {"in": 1}},
        {"pointer": "/plan/0/y~0~1/z/1", "value": 5},
    ]
    assert told["again"] == told["changed"]
    assert told["shorter"] == [{"pointer": "/plan", "value": [{"x": 2}]}]
    assert told["whole"] == ["definition"]
    assert told["nowhere"] == [True] * 4
    assert told["filters"] == [
        "Hi {{ a | upper }}!", '{{ a | replace("old", "new") }} {{ b }}',
        "{{ a.b | upper + c }}", "{{ value | upper }}",
    ]  # fmt: skip


def test_a_definition_is_a_form_with_every_flag_at_its_field(tmp_path: Path) -> None:
    told = worked_out(
        f"""
        {DESK}
        const {{ Editor }} = await import("@/editor.js");
        const host = page("editor");
        let changes = 0;
        const editor = new Editor(host, {_schemas()}, () => (changes += 1));
        const proposal = {_proposal()};
        editor.show(proposal);
        const at = (pointer) => byId("at" + pointer);
        const write = (pointer, value) => Object.assign(at(pointer), {{ value }}).fire("input");
        const said = [...host.all()].filter((one) => one.attributes["data-at"])
          .map((one) => [one.attributes["data-at"], one.className, one.text]);
        const shown = Object.fromEntries(["/name", "/plan/0/config/prompt", "/plan/1/config/text",
          "/plan/2/config/to", "/plan/3/config/steps/0/config/title", "/plan/4/config",
          "/triggers/0/config/timezone", "/execution/budget_cap_usd"]
          .map((one) => [one, at(one).value]));
        const quiet = editor.edits;
        write("/name", "Digest"); write("/plan/2/config/to", "a@x.org\\n\\n b@x.org ");
        write("/execution/budget_cap_usd", "0.75"); write("/execution/timeout_seconds", "60");
        write("/plan/0/config/output_schema", "{{"); const wrong = [...editor.wrong.keys()];
        write("/plan/0/config/output_schema", '{{"type": "object"}}');
        const edits = editor.edits, healed = editor.wrong.size;
        console.log(JSON.stringify({{
          said, shown, quiet, edits, wrong, healed, changes: changes > 0,
          coded: ["/plan/1/config/text", "/plan/0/config/prompt"].map((one) => at(one).className),
          names: [...new Set([...host.all()].map((one) => one.name))],
          hidden: at("/plan/1/config/channel").hidden,
          lead: at("/plan/1/config/channel").parent.text,
        }}));
        """,
        tmp_path,
    )
    assert told["said"] == [
        ["/plan/0/config/output_schema", "flag note", "It may answer anything. Declare it."],
        ["/plan/2/config/subject", "flag warning", EVIL],
    ]
    assert told["shown"] == {
        "/name": EVIL, "/plan/0/config/prompt": f"Be brief. {EVIL}",
        "/plan/1/config/text": "{{ steps.think.text }}", "/plan/2/config/to": "a@example.org",
        "/plan/3/config/steps/0/config/title": "Hm", "/plan/4/config": '{\n  "a": 1\n}',
        "/triggers/0/config/timezone": "UTC", "/execution/budget_cap_usd": "0.50",
    }  # fmt: skip
    assert told["quiet"] == []
    assert {one["pointer"]: one["value"] for one in told["edits"]} == {
        "/name": "Digest", "/plan/2/config/to": ["a@x.org", "b@x.org"],
        "/execution/budget_cap_usd": "0.75", "/execution/timeout_seconds": 60,
        "/plan/0/config/output_schema": {"type": "object"},
    }  # fmt: skip
    assert (told["wrong"], told["healed"]) == (["/plan/0/config/output_schema"], 0)
    assert told["coded"] == ["code", "prose"]
    # What others wrote makes no element of its own.
    assert "img" not in told["names"]
    assert told["hidden"]
    assert f"Which channel? {EVIL}" in told["lead"]


def test_questions_are_required_fields_that_keep_what_was_written(tmp_path: Path) -> None:
    told = worked_out(
        f"""
        {DESK}
        const {{ Questions }} = await import("@/questions.js");
        const host = page("questions");
        const questions = new Questions(host, () => {{}});
        questions.show({_proposal()}, {{ channel: "#one", many: 7, sure: false, when: "at ten" }});
        const told = questions.say("when", "Say it in words.");
        console.log(JSON.stringify({{
          answers: questions.answers, known: told, unknown: questions.say("nobody", "x"),
          said: byId("q-when-problem").text || byId("q-when-problem").textContent,
          names: [...new Set([...host.all()].map((one) => one.name))],
          text: host.text,
          required: ["q-more", "q-many", "q-channel-0", "q-sure-0", "q-when-words"]
            .map((id) => Boolean(byId(id).required)),
          choices: [...host.all()].filter((one) => one.attributes.name === "q-when").length,
        }}));
        """,
        tmp_path,
    )
    assert told["answers"] == {"channel": "#one", "many": 7, "sure": False, "when": "at ten"}
    assert (told["known"], told["unknown"], told["said"]) == (True, False, "Say it in words.")
    assert "img" not in told["names"]
    assert told["text"].count(EVIL) == 2
    assert told["required"] == [True] * 5
    # At nine, by hand, or in words.
    assert told["choices"] == 3
