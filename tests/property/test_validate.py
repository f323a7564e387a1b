"""The validator answers for every document, and what it accepts can be compiled."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.limits import Limits
from mainspring.definition.program import compile_program
from mainspring.definition.schema import ANTI_EXAMPLES, EXAMPLES
from mainspring.definition.validate import validate
from tests.kit.vocabulary import vocabulary

WORDS = vocabulary()
LIMITS = Limits()

documents = st.sampled_from(
    [example.document for example in EXAMPLES]
    + [example.document for example in ANTI_EXAMPLES if isinstance(example.document, dict)]
)
texts = st.sampled_from(
    [
        "",
        "x",
        "{{ x }}",
        "{{",
        "{% if %}",
        "{{ steps.a.b }}",
        "{{ secrets.k }}",
        "false",
        "1 / 0",
        "https://a.example/",
        "$.a",
        "* * * * *",
        "http_fetch",
        "for_each",
        "admin_x",
        "1.1",
        "run",
    ]
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(0, 2), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ["type", "config", "steps", "step_id", "action", "url", "hosts", "$ref"]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A document in which a few places hold something else, or nothing."""
    made = deepcopy(draw(documents))
    for _ in range(draw(st.integers(1, 3))):
        target: Any = made
        for _ in range(draw(st.integers(0, 6))):
            inner = [key for key in _keys(target) if isinstance(target[key], dict | list)]
            if not inner:
                break
            target = target[draw(st.sampled_from(inner))]
        _damage(draw, target)
    return made


def _damage(draw: st.DrawFn, target: Any) -> None:
    keys = _keys(target)
    if not keys:
        return
    key = draw(st.sampled_from(keys))
    if draw(st.integers(0, 4)) == 0:
        del target[key]
    else:
        target[key] = draw(values)


def _keys(target: Any) -> list[Any]:
    return list(target) if isinstance(target, dict) else list(range(len(target)))


@settings(max_examples=300, deadline=None)
@given(damaged())
def test_every_document_gets_an_answer_and_an_accepted_one_runs(document: Any) -> None:
    before = deepcopy(document)
    report = validate(document, WORDS, LIMITS)
    assert document == before
    for finding in (*report.findings, *report.warnings):
        assert finding.pointer == "" or finding.pointer.startswith("/")
        assert finding.detail.endswith(".")
        assert finding.code
    if report.definition is None:
        assert report.findings
        return
    program = compile_program(report.definition, WORDS, LIMITS)
    assert program.grants == report.grants
    assert program.definition == report.definition


@settings(max_examples=50, deadline=None)
@given(values)
def test_any_value_at_all_gets_an_answer(value: Any) -> None:
    assert not validate(value, WORDS, LIMITS).ok
