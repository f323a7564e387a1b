"""A model may not make names up: they are in the workspace, or a person has said them."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.generate.context import RequestTurn
from mainspring.authoring.generate.name_checks import KnownNames, find_invented_names, remarks
from mainspring.authoring.json_pointers import value_at
from tests.kit.author_model import BOARD, RESOURCES, WORDS, plain, wish_for

OTHER = "01900000-0000-7000-8000-0000000000ff"


def step(action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": "one", "action": action, "config": config}


def known(text: str = "do it", *talk: RequestTurn, **others: Any) -> KnownNames:
    return KnownNames.of(wish_for(text, **others), talk, RESOURCES, WORDS)


def codes(document: dict[str, Any], by: KnownNames | None = None) -> list[str]:
    return [one.code for one in find_invented_names(document, by or known())]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (step("append_board_rows", board_id=OTHER, rows=[]), "invented_board"),
        (step("get_board", name="Sales"), "invented_board"),
        (step("slack_post", channel="#leaks"), "invented_channel"),
        (step("slack_post", token="{{ secrets.my_key }}"), "invented_secret"),
        (step("send_email", to=["a@b.example"]), "invented_address"),
        (step("notification", title="Write to a@b.example"), "invented_address"),
        (
            step("agent_task", tools=[{"tool": "get_board", "params": {"board_id": OTHER}}]),
            "invented_board",
        ),
        (
            step("for_each", steps=[step("slack_post", channel="C0123456789")]),
            "invented_channel",
        ),
    ],
)
def test_a_name_that_nobody_gave_is_wrong(config: dict[str, Any], code: str) -> None:
    assert codes(plain(plan=[config])) == [code]


def test_triggers_name_things_too() -> None:
    signed = {"type": "webhook", "config": {"signature": {"secret": "whsec"}}}
    event = {"type": "event", "config": {"event_type": "shop.order_paid"}}
    board = {"type": "board_change", "config": {"board_id": OTHER}}
    assert sorted(codes(plain(triggers=[signed, event, board], writes={"boards": [OTHER]}))) == [
        "invented_board",
        "invented_board",
        "invented_event_type",
        "invented_secret",
    ]


def test_what_there_is_and_what_a_person_said_may_be_named() -> None:
    plan = [
        step("append_board_rows", board_id=BOARD, rows=[]),
        step("get_board", name="Invoices"),
        step("slack_post", channel="#StandUp", token="{{ secrets.slack_bot_token }}"),
        step("send_email", to=["Ann@Firm.example", "{{ inputs.to }}"]),
        step("slack_post", channel="{{ inputs.channel }}"),
    ]
    event = {"type": "event", "config": {"event_type": "drive.file_added"}}
    by = known("post to #standup", RequestTurn("person", "and mail ann@firm.example"))
    assert codes(plain(plan=plan, triggers=[event]), by) == []


def test_what_only_a_proposal_said_was_said_by_nobody() -> None:
    by = known("go on", RequestTurn("proposal", "It posts to #leaks."))
    assert codes(plain(plan=[step("slack_post", channel="#leaks")]), by) == ["invented_channel"]


def test_a_part_of_a_word_is_no_name() -> None:
    by = known("call me")
    assert codes(plain(plan=[step("slack_post", channel="#all")]), by) == ["invented_channel"]


def test_what_was_saved_before_may_stay() -> None:
    before = plain(plan=[step("slack_post", channel="#ops", token="{{ secrets.old }}")])
    assert codes(before, known("say it louder", before=before)) == []


def test_hosts_and_page_types_that_nobody_named_are_remarked_on() -> None:
    plan = [
        step("http_fetch", url="https://evil.example/x"),
        step("http_fetch", url="https://news.example/{{ inputs.a }}"),
        step("list_pages", type="rumour"),
        step("search", q="x", type="invoice"),
    ]
    lines = remarks(plain(plan=plan), known("read news.example"))
    assert len(lines) == 2
    assert any("evil.example" in one for one in lines)
    assert any("'rumour'" in one for one in lines)


def test_a_document_of_any_shape_is_read_without_a_complaint() -> None:
    odd: dict[str, Any] = {"plan": "x", "triggers": {"a": [None, 7]}, "": [[]], "channel": None}
    assert codes(odd) == []
    assert remarks(odd, known()) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ secrets.bank_key }}",
        "{{ secrets            .bank_key }}",
        "{{ secrets.\n\n\n\n\n\n\n\n\n\n\n\nbank_key }}",
        "Bearer {{ run.id }}{{- secrets.bank_key }}",
        "{% if run.id %}{{ secrets.bank_key }}{% endif %}",
        "{# secrets #}{{ secrets.bank_key",
    ],
)
def test_a_secret_is_found_however_its_use_is_written(text: str) -> None:
    fetch = step("http_fetch", url="https://a.example/", headers={"Authorization": text})
    assert codes(plain(plan=[fetch]), known("fetch a.example")) == ["invented_secret"]
    own = known("fetch a.example", RequestTurn("person", "with {{ secrets.bank_key }}"))
    assert codes(plain(plan=[fetch]), own) == []


def test_a_secret_in_a_script_is_found_too() -> None:
    sends = 'await brains.http_fetch({ url: "https://a.example/", headers: { A: "{{bank_key}}" } })'
    assert codes(plain(plan=[step("script", source=sends)])) == ["invented_secret"]


MADE_UP: list[tuple[str, Any]] = [
    ("channel", "{% if false %}#standup{% endif %}{#" + "x" * 323 + "#}C0EVIL"),
    ("channel", "{{ run.id | replace(run.id, 'C0EVIL') }}"),
    ("channel", "{% set a = 'C0EVIL' %}{{ a }}"),
    ("channel", "{{ inputs.channel | default('C0EVIL') }}"),
    ("channel", "{{ 'C0EVIL' if inputs.a else '#standup' }}"),
    ("channel", "{{ inputs.a ~ inputs.b }}"),
    ("channel", "{# #standup #}{{ inputs.a }}"),
    ("channel", "#evil-{{ inputs.team }}"),
    ("channel", "#standup{# #}"),
    ("to", ["{{ run.id | replace(run.id,'mallory') }}@evil.example"]),
    ("to", ["{{ inputs.who }}@evil.example"]),
    ("cc", ["{{ inputs.who }}@evil.{{ inputs.end }}"]),
    ("to", ["!@evil.example"]),
    ("to", ["{{ ['mallory', 'evil.example'] | join('@') }}"]),
    ("url", "https://{{ 'evil.example' }}/"),
    ("url", "https://{{ inputs.a }}.evil.example/"),
    ("url", "https://api.example{# x #}.evil.example/"),
    ("url", "{% if true %}https://evil.example/{% endif %}"),
    ("url", "{{ run.id | replace(run.id, 'https://evil.example') }}"),
]


@pytest.mark.parametrize(("key", "value"), MADE_UP)
def test_a_destination_that_a_template_builds_is_made_up(key: str, value: Any) -> None:
    by = known("post to #standup, mail ann@firm.example, fetch https://api.example/x")
    document = plain(plan=[step("slack_post", **{key: value})])
    (found,) = [
        one for one in find_invented_names(document, by) if one.pointer.startswith("/plan/0/config")
    ]
    assert found.code in ("invented_channel", "invented_address", "invented_host")
    assert found.suggestion
    # What was saved before, or said in these very words, may stay.
    assert codes(document, known("say it louder", before=document)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("channel", "#standup"),
        ("channel", "#{{ inputs.team }}"),
        ("channel", "{{ steps.find['channel'] | trim }}"),
        ("channel", "standup-{{ inputs.team }}"),
        ("to", ["{{ steps.find.people[0].email }}", "Ann <ann@firm.example>"]),
        ("to", ["{{ inputs.who }}@firm.example"]),
        ("to", "{{ inputs.who }}@{{ inputs.host }}"),
        ("url", "{{ inputs.url }}"),
        ("url", "https://{{ inputs.host }}/a/b?c=d"),
        ("url", "https://api.example/{{ 'x' }}/{# note #}"),
        ("channel", "{{ unfinished"),
        ("channel", "{{ inputs.channel | default('') }}"),
        ("channel", "{{ inputs.channel | default(inputs.other) }}"),
        ("rows", [{"email": "{{ inputs.a ~ 'x' }}", "to": "{% if true %}a{% endif %}"}]),
        ("json", {"channel": "{{ inputs.a | replace('a', 'b') }}"}),
    ],
)
def test_a_destination_that_passes_on_known_values_is_accepted(key: str, value: Any) -> None:
    by = known("post to #standup, mail ann@firm.example, fetch https://api.example/x")
    assert codes(plain(plan=[step("slack_post", **{key: value})]), by) == []


INPUT = {"inputs": {"schema": {"type": "object", "properties": {"to": {"default": "C0EVIL"}}}}}
LAID_DOWN: list[tuple[str, str, dict[str, Any]]] = [
    ("channel", "{{ inputs.to }}", INPUT),
    ("channel", "#{{ inputs.to | trim }}", INPUT),
    ("channel", "{{ inputs.to }}", {"triggers": [{"type": "manual", "inputs": {"to": "C0EVIL"}}]}),
    ("channel", "{{ steps.made.to }}", {"made": {"to": "C0EVIL", "text": "Hi"}}),
    ("channel", "{{ made.to }}", {"made": {"to": "{{ 'C0EVIL' }}", "text": "Hi"}}),
    ("channel", "{{ steps.made }}", {"made": "C0EVIL"}),
    ("url", "{{ steps.made.url }}", {"made": {"url": "https://evil.example/x"}}),
    ("url", "https://{{ steps.made.host }}/x", {"made": {"host": "evil.example"}}),
]


@pytest.mark.parametrize(("key", "value", "others"), LAID_DOWN)
def test_a_destination_may_not_be_laid_down_elsewhere_either(
    key: str, value: str, others: dict[str, Any]
) -> None:
    made = {**others}
    post = step("slack_post", **{key: value})
    output = made.pop("made", None)
    before = (
        [] if output is None else [{**step("transform_data", output=output), "step_id": "made"}]
    )
    document = plain(plan=[*before, post], **made)
    (found,) = find_invented_names(document, known())
    assert found.code in ("invented_channel", "invented_host")
    assert value_at(document, found.pointer) in found.detail or "C0EVIL" in found.detail
    text = known("post to C0EVIL what https://evil.example/x says")
    if "'C0EVIL'" not in str(others):
        assert codes(document, text) == []
    assert codes(document, known(before=document)) == []


def test_the_items_of_a_loop_lay_a_destination_down_too() -> None:
    loop = step("for_each", items=["C0EVIL"], steps=[step("slack_post", channel="{{ item }}")])
    assert codes(plain(plan=[loop])) == ["invented_channel"]
    assert codes(plain(plan=[loop]), known("post to C0EVIL")) == []


def test_what_is_looked_at_and_reported_is_bounded() -> None:
    many = [step("slack_post", channel="{{ inputs.a }}") for _ in range(301)]
    assert codes(plain(plan=many)) == ["too_many_destinations"]
    leaks = [step("slack_post", channel=f"#leak{n}") for n in range(300)]
    assert len(codes(plain(plan=leaks))) == 200
