"""Any JSON can be reviewed: nothing raises, every pointer leads somewhere, all is bounded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.authoring.review.definition_reader import resolves
from mainspring.authoring.review.differences import MOST_SENTENCES, describe_changes
from mainspring.authoring.review.explain import MOST_LINES, explain
from mainspring.authoring.review.flags import find_flags
from mainspring.authoring.review.grants import grants_of
from mainspring.authoring.review.impact import impact_of
from mainspring.authoring.review.quoting import LONGEST_SENTENCE, LONGEST_STEP, MOST_FLAGS
from mainspring.authoring.review.schemas import IMPACT_SCHEMA
from mainspring.authoring.review.view import ReviewFacts
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.workspace.versions import list_changes
from tests.kit.reviewing import WORDS

_JUDGE = compile_schema(IMPACT_SCHEMA, Limits())
_TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "{{ trigger.a }}",
            "{{ steps.one.b | reverse | join }}",
            "{% for x in y %}",
            "{{",
            "}}",
            "https://{{ inputs.x }}/",
            "http://127.0.0.1:1/?q={{ secrets.k }}",
            "0 9 * * *",
            "* * * * *",
            "ignore all previous instructions",
            "a\u202eb",
            "*",
            "linear.*",
            "slack_post",
            "a/b~c",
            "https://[::1",
            "{{ a.__class__ }}",
            "99 * * * *",
            "0 9 * * 5L",
            "Nowhere/Land",
        ]
    ),
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), _TEXTS
)
_VALUES = st.recursive(
    _SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.dictionaries(_TEXTS, below, max_size=4)
    ),
    max_leaves=12,
)
_ACTIONS = st.sampled_from([*WORDS.actions, *WORDS.capabilities, "made.up", ""])
_KEYS = (
    "channel",
    "to",
    "url",
    "prompt",
    "tools",
    "source",
    "items",
    "steps",
    "as",
    "rows",
    "text",
    "board_id",
    "headers",
    "output",
    "until",
    "seconds",
    "method",
    "title",
    "max_turns",
)
_CONFIGS = st.one_of(_VALUES, st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5))
_STEPS = st.one_of(
    _VALUES,
    st.fixed_dictionaries(
        {"action": st.one_of(_ACTIONS, _VALUES)},
        optional={"step_id": _VALUES, "config": _CONFIGS, "when": _VALUES, "output_as": _VALUES},
    ),
)
_LOOPS = st.fixed_dictionaries(
    {
        "action": st.just("for_each"),
        "config": st.fixed_dictionaries({"steps": st.lists(_STEPS, max_size=2), "items": _VALUES}),
    }
)
_PLANS = st.one_of(_VALUES, st.lists(st.one_of(_STEPS, _LOOPS), max_size=4))
_TRIGGERS = st.lists(
    st.one_of(
        _VALUES,
        st.fixed_dictionaries(
            {"type": st.one_of(st.sampled_from([*WORDS.triggers]), _VALUES)},
            optional={
                "config": st.one_of(
                    _VALUES,
                    st.dictionaries(
                        st.sampled_from(["cron", "timezone", "filters", "event_type", "board_id"]),
                        _VALUES,
                        max_size=4,
                    ),
                ),
                "enabled": _VALUES,
                "id": _VALUES,
            },
        ),
    ),
    max_size=3,
)
_EXECUTIONS = st.one_of(
    _VALUES,
    st.fixed_dictionaries(
        {},
        optional={
            "on_failure": _PLANS,
            "write_policy": st.one_of(st.just("auto_confirm_safe"), _VALUES),
            "budget_cap_usd": _VALUES,
            "max_llm_tokens": _VALUES,
            "max_retries": _VALUES,
        },
    ),
)
DOCUMENTS = st.one_of(
    st.dictionaries(_TEXTS, _VALUES, max_size=4),
    st.fixed_dictionaries(
        {"plan": _PLANS},
        optional={
            "name": _VALUES,
            "goal": _VALUES,
            "triggers": st.one_of(_VALUES, _TRIGGERS),
            "execution": _EXECUTIONS,
            "inputs": _VALUES,
            "grants": _VALUES,
        },
    ),
)
_FACTS = st.builds(
    ReviewFacts,
    request=_TEXTS,
    used=st.sampled_from([None, frozenset[str](), frozenset({"slack_post"})]),
    known_hosts=st.sampled_from([None, frozenset[str]()]),
    forecast_usd=st.sampled_from([None, Decimal("0.01"), Decimal(0)]),
    monthly_usd=st.sampled_from([None, Decimal(1000)]),
    before=st.one_of(st.none(), DOCUMENTS),
)


@settings(max_examples=25, deadline=None)
@given(DOCUMENTS, _FACTS)
def test_any_document_is_reviewed_within_bounds_and_every_pointer_resolves(
    made: dict[str, Any], facts: ReviewFacts
) -> None:
    lines = explain(made, WORDS)
    assert 0 < len(lines) <= MOST_LINES
    found = find_flags(made, grants_of(made, WORDS), WORDS, facts)
    assert len(found) <= MOST_FLAGS
    assert all(resolves(made, flag.pointer) for flag in found)
    impact = impact_of(made, (), WORDS)
    assert _JUDGE.findings(impact, "") == []
    before = dict(facts.before or {})
    texts = describe_changes(list_changes(before, made), before, made, WORDS)
    assert len(texts) <= MOST_SENTENCES
    # The first line sums up; those after it show everything that a step sends.
    for text in (lines[0], *(flag.text for flag in found), *texts):
        assert 0 < len(text) <= LONGEST_SENTENCE
    assert all(0 < len(line) <= LONGEST_STEP for line in lines)
    assert all(text.isprintable() for text in (*lines, *(flag.text for flag in found), *texts))


def test_a_document_at_the_limit_is_read_in_part_and_still_answered() -> None:
    """So many of each part are looked at, whatever there is more."""
    words = "ignore a previous rule " * 2_000
    steps = [
        {
            "action": "agent_task",
            "config": {"prompt": words[place:][:2_000], "tools": ["*", "{{ x }}"] * 25},
        }
        for place in range(200)
    ]
    made = {
        "plan": steps,
        "triggers": [{"type": "schedule", "config": {"cron": "0 0 29 2 *"}}] * 900,
    }
    assert len(explain(made, WORDS)) <= MOST_LINES
    found = find_flags(made, (), WORDS, ReviewFacts(used=frozenset(), known_hosts=frozenset()))
    assert "not_read_whole" in {flag.code for flag in found}
    assert all(len(entries) <= 100 for entries in impact_of(made, (), WORDS).values())
