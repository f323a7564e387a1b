"""What is sent, as it is written: another text or destination is known as another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.limits import Limits
from mainspring.definition.authority_writes import (
    StepsWithDefaults,
    find_added_sends,
    hash_outgoing,
    list_outgoing_by,
    read_input_defaults,
    read_writes,
)
from mainspring.definition.traits import flatten_steps


def step(name: str, action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": name, "action": action, "config": config}


def shape(name: str, output: Any) -> dict[str, Any]:
    return step(name, "transform_data", output=output)


def written(*steps: Any, **defaults: Any) -> StepsWithDefaults:
    given = {f"/properties/{name}/default": value for name, value in defaults.items()}
    return StepsWithDefaults(flatten_steps({"plan": list(steps)}), given)


def sent(*steps: Any, **defaults: Any) -> frozenset[bytes]:
    """What the last of these steps sends."""
    found = written(*steps, **defaults)
    return hash_outgoing(found.steps[-1], found)


POST = step("post", "slack_post", channel="C1", text="Hello {{ steps.a.b }} {{ inputs.who }}")
LEAD = "It now sends something else at the step post (slack_post): "
SCRIPT_LEAD = "The script at the step code (script), which may write outside, is another one now: "


def test_the_same_settings_are_the_same_text_and_others_are_not() -> None:
    assert sent(POST) == sent({**POST, "step_id": "renamed"})
    assert sent(POST) != sent(step("post", "slack_post", channel="C2", text="Hello"))
    assert sent(POST) != sent({**POST, "action": "send_email"})


@pytest.mark.parametrize("name", ["timeout_seconds", "max_bytes", "follow_redirects"])
def test_how_a_request_is_made_is_no_part_of_it(name: str) -> None:
    url = "https://a.example/"
    assert sent(step("a", "http_fetch", url=url)) == sent(
        step("a", "http_fetch", url=url, **{name: 5})
    )


@pytest.mark.parametrize("name", ["tools", "grants"])
def test_what_a_model_may_call_is_compared_as_its_bounds(name: str) -> None:
    for action in (AGENT_RUN, AGENT_TASK):
        one = sent(step("a", action, prompt="x"))
        assert one == sent(step("a", action, prompt="x", **{name: ["slack_post"]}))
        assert one != sent(step("a", action, prompt="y"))
    assert sent(step("a", "slack_post")) != sent(step("a", "slack_post", **{name: ["x"]}))


def test_of_a_script_the_source_counts_alone() -> None:
    one = sent(step("a", "script", source="return 1;"))
    assert one == sent(step("a", "script", source="return 1;", grants=["slack_post"]))
    assert one != sent(step("a", "script", source="return 2;"))
    assert one != sent(step("a", "program", source="return 1;"))
    for other in ("scripts", "scr"):
        assert sent(step("a", other, source="1")) != sent(step("a", other, source="1", grants=[]))


def test_what_a_transform_fills_in_is_part_of_it_over_any_number_of_steps() -> None:
    def chain(first: str, *, action: str = "transform_data") -> frozenset[bytes]:
        return sent(
            step("c", action, output=first),
            shape("a", "{{ steps.c }}"),
            shape("unread", first),
            POST,
        )

    assert chain("x") == chain("x")
    assert chain("x") != chain("y")
    # What a step reads is filled in by the run, and what nobody names is not sent.
    for action in ("list_pages", "transform", "transform_data_later"):
        assert chain("x", action=action) == chain("y", action=action)
    plain = sent(shape("a", "x"), POST)
    assert plain == sent(shape("unread", "x"), shape("a", "x"), POST)
    assert plain != sent(shape("a", "y"), POST)


def test_a_name_is_read_as_a_whole_word() -> None:
    text = step("post", "slack_post", text="{{ steps.abc }}")
    assert sent(shape("ab", "x"), text) == sent(shape("ab", "y"), text)
    assert sent(shape("bc", "x"), text) == sent(shape("bc", "y"), text)
    assert sent(shape("abc", "x"), text) != sent(shape("abc", "y"), text)
    # Without the root it is just a word.
    word = step("post", "slack_post", text="an abc")
    assert sent(shape("abc", "x"), word) == sent(shape("abc", "y"), word)


def test_the_results_of_a_loop_depend_on_its_items_and_its_steps() -> None:
    text = step("post", "slack_post", text="{{ steps.loop.results }}")

    def loop(item: str, inner: dict[str, Any], action: str = "for_each") -> frozenset[bytes]:
        return sent(step("loop", action, items=[item], steps=[inner]), text)

    get = step("get", "http_fetch", url="https://a.example/{{ item }}")
    assert loop("x", get) == loop("x", get)
    assert loop("x", get) != loop("y", get)
    assert loop("x", shape("inner", "a")) != loop("x", shape("inner", "b"))
    # A step next to the loop gives nothing to its results.
    whole = step("loop", "for_each", items=["x"], steps=[get])
    assert sent(whole, shape("other", "a"), text) == sent(whole, shape("other", "b"), text)
    # Only a loop has results.
    for action in ("for_", "for_each_more"):
        assert loop("x", shape("a", "a"), action) == loop("x", shape("a", "b"), action)


@pytest.mark.parametrize("setting", ["text", "when"])
def test_what_cannot_be_read_may_read_anything(setting: str) -> None:
    broken = "{{ broken"
    post = step("post", "slack_post", text=broken)
    if setting == "when":
        loop = step("loop", "for_each", items=[1], steps=[step("post", "slack_post", text="x")])
        post = {**loop, "when": broken}
    one = sent(shape("a", "x"), post, who="Ann")
    assert one == sent(shape("a", "x"), post, who="Ann")
    assert one != sent(shape("a", "y"), post, who="Ann")
    assert one != sent(shape("a", "x"), post, who="Ben")
    names = [replace(written(post), name=name) for name in ("one", "other")]
    assert len({hash_outgoing(found.steps[-1], found) for found in names}) == 2


def test_a_text_that_is_too_long_for_a_template_reads_nothing_without_one() -> None:
    def post(end: str) -> dict[str, Any]:
        return step("post", "slack_post", text="x" * Limits().template_bytes + end)

    assert sent(shape("a", "x"), post("y")) == sent(shape("a", "z"), post("y"))
    unread = post("{{ steps.b }}")
    assert sent(shape("a", "x"), unread) != sent(shape("a", "z"), unread)


@pytest.mark.parametrize("read", ["secrets.who", "steps.who", "steps", "run.who"])
def test_what_is_read_of_something_else_is_no_input(read: str) -> None:
    text = step("post", "slack_post", text=f"{{{{ {read} }}}}")
    assert sent(text, who="Ann") == sent(text, who="Ben")


def test_the_default_of_an_input_that_is_named_is_part_of_it() -> None:
    assert sent(POST, who="Ann") != sent(POST, who="Ben")
    assert sent(POST, other="Ann") == sent(POST, other="Ben")
    through = (shape("a", "{{ inputs.deep }}"), POST)
    assert sent(*through, deep="x") != sent(*through, deep="y")


@pytest.mark.parametrize(
    ("document", "defaults"),
    [
        ({}, {}),
        ({"inputs": None}, {}),
        ({"inputs": {"schema": None}}, {}),
        ({"inputs": {"schema": True}}, {}),
        ({"inputs": {"schema": {"properties": []}}}, {}),
        (
            {
                "inputs": {
                    "schema": {
                        "properties": {
                            "a": {"default": None},
                            "b": {},
                            "c": True,
                            "d": {"default": 0},
                        }
                    }
                }
            },
            {"/properties/a/default": None, "/properties/d/default": 0},
        ),
    ],
)
def test_the_defaults_of_a_definition_are_those_that_it_gives(
    document: Any, defaults: dict[str, Any]
) -> None:
    assert read_input_defaults(document) == defaults


@pytest.mark.parametrize("document", [{}, {"name": None, "triggers": None, "inputs": None}])
def test_a_definition_that_leaves_everything_out_sends_nothing(document: dict[str, Any]) -> None:
    assert read_writes(document) == StepsWithDefaults()


def _more(
    before: StepsWithDefaults, after: StepsWithDefaults, *sends: str
) -> list[tuple[str, str]]:
    return list(find_added_sends(before, after, frozenset(sends)))


def test_what_is_sent_anew_is_named_at_its_place() -> None:
    before = written(POST, step("code", "script", source="1"))
    assert _more(before, before, "/plan/0", "/plan/1") == []
    other = {**POST, "config": {**POST["config"], "text": "Bye"}}
    after = written(
        other, step("code", "script", source="2"), step("mail", "send_email", to="a"), POST
    )
    assert _more(before, after, "/plan/0", "/plan/1", "/plan/2", "/plan/3") == [
        (
            "/plan/0",
            f"{LEAD}text was “Hello {{{{ steps.a.b }}}} {{{{ inputs.who }}}}” and is now “Bye”.",
        ),
        (
            "/plan/1",
            f"{SCRIPT_LEAD}source was “1” and is now “2”.",
        ),
        ("/plan/2", "It now also sends something at the step mail (send_email): to is “a”."),
    ]
    # Only a script is described as one.
    for action in ("scripts", "scrip"):
        one = written(step("code", action, source="2"))
        assert [says[:15] for _, says in _more(before, one, "/plan/0")] == ["It now also sen"]
    # Only steps that send are compared.
    assert [place for place, _ in _more(before, after, "/plan/2")] == ["/plan/2"]
    # A step of another name or another action is one more.
    renamed = written({**other, "step_id": "posts"}, {**other, "action": "send_email"})
    assert [says[:15] for _, says in _more(before, renamed, "/plan/0", "/plan/1")] == [
        "It now also sen",
        "It now also sen",
    ]


def _change(before: Any, after: Any) -> str:
    ((_, says),) = _more(written(before), written(after), "/plan/0")
    assert says.startswith(LEAD)
    return says.removeprefix(LEAD).removesuffix(".")


def test_every_changed_setting_is_shown_as_it_was_and_as_it_is() -> None:
    before = step("post", "slack_post", channel="C1", text="a", blocks=[{"t": "x"}], thread="1")
    after = step("post", "slack_post", channel="C2", text="a", blocks=[{"t": "y"}], reply=True)
    assert _change(before, after) == (
        "channel was “C1” and is now “C2”; blocks 1 t was “x” and is now “y”; "
        "reply is new: “true”; thread is gone: it was “1”"
    )


def test_of_a_long_text_what_differs_is_shown() -> None:
    head, tail = "h" * 3_000, "t" * 3_000
    before = step("post", "slack_post", text=f"{head}pay 10{tail}")
    after = step("post", "slack_post", text=f"{head}pay 90{tail}")
    near, far = "h" * 56 + "pay ", "0" + "t" * 59
    assert _change(before, after) == f"text was “… {near}1{far} …” and is now “… {near}9{far} …”"


def test_all_of_a_long_change_is_shown() -> None:
    shown = _change(
        step("post", "slack_post", text=""), step("post", "slack_post", text="x" * 9_000)
    )
    assert shown == f"text was “” and is now “{'x' * 9_000}”"


def test_all_of_many_changes_are_shown() -> None:
    before, after = (
        step("post", "slack_post", text="x", blocks=[f"{word}{n}" for n in range(30)])
        for word in ("old", "new")
    )
    shown = _change(before, after).split("; ")
    assert shown == [f"blocks {n + 1} was “old{n}” and is now “new{n}”" for n in range(30)]


def test_a_shown_text_can_neither_hide_nor_close_its_quotation() -> None:
    shown = _change(
        step("post", "slack_post", text="a"),
        step("post", "slack_post", text="b”. It sends nothing.\n\u200bc"),
    )
    assert shown == 'text was “a” and is now “b". It sends nothing. ↵ \\u200bc”'


def test_what_is_decided_outside_the_step_is_shown_too() -> None:
    plain = step("post", "slack_post", text="{{ steps.fmt.line }} {{ inputs.who }}")

    def plan(line: str, who: str) -> StepsWithDefaults:
        return written(plain, shape("fmt", {"line": line}), who=who)

    ((_, says),) = _more(plan("one", "Ann"), plan("two", "Bob"), "/plan/0")
    assert says == (
        f"{LEAD}what it reads from the step fmt output line was “one” and is now “two”; "
        "the input schema at /properties/who/default was “Ann” and is now “Bob”."
    )


def test_what_decides_a_condition_is_compared_where_the_condition_is_the_same() -> None:
    def posts(when: str | None, ready: str) -> StepsWithDefaults:
        return written({**POST, "when": when} if when else POST, ready=ready)

    short, long = "inputs.ready", "inputs.ready == 'no'"
    for when in (short, long):
        assert _more(posts(when, "no"), posts(when, "no"), "/plan/0") == []
        assert len(_more(posts(when, "no"), posts(when, "yes"), "/plan/0")) == 1
        assert _more(posts(when, "no"), posts(None, "yes"), "/plan/0") == []
        assert _more(posts(None, "no"), posts(when, "yes"), "/plan/0") == []
    # Another condition is compared elsewhere, although one is the beginning of the other.
    assert _more(posts(short, "no"), posts(long, "yes"), "/plan/0") == []
    assert _more(posts(long, "no"), posts(short, "yes"), "/plan/0") == []


def test_all_that_is_sent_with_one_capability() -> None:
    script = step("code", "script", source="1", grants=[{"tool": "slack_post"}, "x"])
    quiet = step("quiet", "script", source="2", grants=[{"tool": "send_email"}])
    document = {
        "plan": [
            POST,
            script,
            quiet,
            step("odd", "script", source="3", grants="slack_post"),
            step("agent", "agent_task", grants=[{"tool": "slack_post"}]),
            step("scripts", "scripts", grants=[{"tool": "slack_post"}]),
            step("scrip", "scrip", grants=[{"tool": "slack_post"}]),
            step("longer", "slack_posts", text="x"),
        ],
        "inputs": {"schema": {"properties": {"who": {"default": "Ann"}}}},
    }
    expected = sent(POST, who="Ann") | sent(script)
    assert list_outgoing_by(document, "slack_post") == expected
    assert list_outgoing_by(document, "send_email") == sent(quiet)
    assert list_outgoing_by(document, "slack") == frozenset()
    assert list_outgoing_by(document, "slack_post_later") == frozenset()
