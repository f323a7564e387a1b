"""The fifteen filters, one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import FILTERS, TESTS, parse_template

LIMITS = Limits()


def value(source: str, **context: Any) -> Any:
    return parse_template(source, LIMITS).value(context)


def refusal(source: str, **context: Any) -> Invalid:
    with pytest.raises(Invalid) as caught:
        value(source, **context)
    return caught.value


def test_there_are_exactly_fifteen() -> None:
    assert set(FILTERS) == {
        "join",
        "length",
        "default",
        "upper",
        "lower",
        "truncate",
        "tojson",
        "date",
        "replace",
        "trim",
        "slugify",
        "first",
        "last",
        "sort",
        "reverse",
    }


def test_the_tests_are_the_listed_ones() -> None:
    assert set(TESTS) == {
        "defined",
        "undefined",
        "none",
        "number",
        "string",
        "mapping",
        "sequence",
        "boolean",
    }


@pytest.mark.parametrize(
    ("moment", "pattern", "shown"),
    [
        ("2026-05-26T08:05:09+02:00", "%Y-%m-%d %H:%M:%S", "2026-05-26 08:05:09"),
        ("2026-05-26T08:05:09Z", "%d %B %Y, %A", "26 May 2026, Tuesday"),
        ("2026-05-06", "%-d.%-m.%y", "6.5.26"),
        ("2026-05-26T00:05:00", "%-H:%M %p", "0:05 AM"),
        ("20260526T080509Z", "%j %U %W %w %u %G-%V", "146 21 21 2 2 2026-22"),
        ("2026-05-26T08:05:09.123456Z", "%f %Z %z", "123456 UTC +0000"),
        ("2026-05-26", "100 %% – “%b %a”", "100 % – “May Tue”"),
        (" 2026-05-26 ", "%Y", "2026"),
        (0, "%Y-%m-%dT%H:%M", "1970-01-01T00:00"),
        (1_779_782_400.5, "%Y-%m-%d %H", "2026-05-26 08"),
        (datetime(2026, 5, 26, tzinfo=UTC), "%I", "12"),
        (date(2026, 5, 26), "%H", "00"),
        ("0007-01-01", "%Y", "0007"),
    ],
)
def test_a_date_is_written_by_its_format(moment: Any, pattern: str, shown: str) -> None:
    assert value("{{ at | date(how) }}", at=moment, how=pattern) == shown


def test_a_date_has_a_default_format() -> None:
    assert value("{{ '2026-05-26T08:00:00Z' | date }}") == "2026-05-26"


@pytest.mark.parametrize(
    "moment", ["yesterday", "", "2026-13-01", "x" * 100, 10**15, -(10**15), None, [], True]
)
def test_what_is_no_date_is_refused(moment: Any) -> None:
    assert refusal("{{ at | date }}", at=moment).code == "template_value"


@pytest.mark.parametrize("pattern", ["%Q", "%", "%-", "%s", "%c", "%-%", "%E", "x" * 201, "%\n"])
def test_an_unknown_directive_is_refused_when_the_template_is_read(pattern: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_template("{{ at | date(" + repr(pattern) + ") }}", LIMITS)
    assert caught.value.code == "template_value"
    assert refusal("{{ 0 | date(how) }}", how=pattern).code == "template_value"


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("  --a__b--  ", "a-b"),
        ("Crème Brûlée", "creme-brulee"),
        ("Cre\u0300me", "creme"),
        ("Straße & Ærø", "strasse-aero"),
        ("Łódź İstanbul", "lodz-istanbul"),
        ("Привет, мир", "привет-мир"),
        ("日本語 テキスト", "日本語-テキスト"),
        ("हिन्दी", "हिन्दी"),
        ("ﬁve ½", "five-1-2"),
        ("😀", ""),
        ("", ""),
        (42, "42"),
    ],
)
def test_a_slug_keeps_the_letters_of_every_script(text: Any, slug: str) -> None:
    assert value("{{ text | slugify }}", text=text) == slug


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ 'one two three' | truncate(100) }}", "one two three"),
        ("{{ 'one two three' | truncate(13) }}", "one two three"),
        ("{{ 'one two three' | truncate(9) }}", "one two…"),
        ("{{ 'one two three' | truncate(8) }}", "one two…"),
        ("{{ 'one two three' | truncate(7) }}", "one…"),
        ("{{ 'one two three' | truncate(9, '...') }}", "one..."),
        ("{{ 'one two three' | truncate(9, killwords=true) }}", "one two…"),
        ("{{ 'one two three' | truncate(10, true) }}", "one two t…"),
        ("{{ 'onetwothree' | truncate(5) }}", "onet…"),
        ("{{ 'onetwothree' | truncate(5, end='') }}", "onetw"),
        ("{{ 'onetwothree' | truncate(1) }}", "…"),
        ("{{ 12345678 | truncate(4) }}", "123…"),
        ("{{ ('x' * 300) | truncate | length }}", 255),
    ],
)
def test_a_truncated_text_is_never_longer_than_asked(source: str, shown: Any) -> None:
    assert value(source) == shown


@pytest.mark.parametrize("length", [0, -1, "5", 2.5, None, True])
def test_truncate_needs_a_length(length: Any) -> None:
    assert refusal("{{ 'abc' | truncate(n) }}", n=length).code == "template_value"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ rows | sort(attribute='n') | join(attribute='k') }}", "bca"),
        ("{{ rows | sort('n') | join(attribute='k') }}", "bca"),
        ("{{ rows | sort(attribute='n', reverse=true) | join(attribute='k') }}", "abc"),
        ("{{ rows | sort(attribute='deep.x') | join(attribute='deep.x') }}", "123"),
        ("{{ rows | sort(attribute='list.0') | join(attribute='list.0') }}", "123"),
        ("{{ [[2, 'b'], [1, 'a']] | sort(attribute=0) | last | last }}", "b"),
        ("{{ ['b', 'A', 'c'] | sort }}", ["A", "b", "c"]),
        ("{{ ['b', 'A', 'c'] | sort(case_sensitive=true) }}", ["A", "b", "c"]),
        ("{{ ['b', 'A', 'a', 'B'] | sort }}", ["A", "a", "b", "B"]),
        ("{{ [1, 0.5, 2] | sort }}", [0.5, 1, 2]),
        ("{{ {'b': 1, 'a': 2} | sort }}", ["a", "b"]),
        ("{{ [] | sort }}", []),
        ("{{ [] | sort(attribute='x') }}", []),
    ],
)
def test_sorting(source: str, shown: Any) -> None:
    rows = [
        {"k": "a", "n": 2, "deep": {"x": 3}, "list": [3]},
        {"k": "b", "n": 1, "deep": {"x": 2}, "list": [1]},
        {"k": "c", "n": 1, "deep": {"x": 1}, "list": [2]},
    ]
    assert value(source, rows=rows) == shown


@pytest.mark.parametrize(
    "items", [[1, "a"], [None, 1], [[1], [2]], [{}, {}], [True, False], ["a", None], [1, True]]
)
def test_what_has_no_order_cannot_be_sorted(items: list[Any]) -> None:
    caught = refusal("{{ items | sort }}", items=items)
    assert caught.code == "template_value"
    assert "sort cannot order" in caught.detail.lower()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{{ 5 | sort }}", "template_value"),
        ("{{ 'ba' | sort }}", "template_value"),
        ("{{ 5 | join }}", "template_value"),
        ("{{ 5 | length }}", "template_value"),
        ("{{ none | length }}", "template_value"),
        ("{{ 5 | first }}", "template_value"),
        ("{{ 5 | reverse }}", "template_value"),
        ("{{ [{}] | sort(attribute='a') }}", "template_undefined"),
        ("{{ [{}] | join(attribute='a') }}", "template_undefined"),
        ("{{ [{}] | join(attribute=[]) }}", "template_value"),
        ("{{ [1] | sort(attribute='a') }}", "template_undefined"),
        ("{{ '' | first }}", "template_undefined"),
        ("{{ {} | last }}", "template_undefined"),
        ("{{ [] | tojson(9) }}", "template_value"),
        ("{{ [] | tojson(-1) }}", "template_value"),
        ("{{ [] | tojson('  ') }}", "template_value"),
        ("{{ 'a' | replace('a', 'b', 'c') }}", "template_value"),
    ],
)
def test_a_filter_refuses_what_it_cannot_do(source: str, code: str) -> None:
    assert refusal(source).code == code


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ {'a': [1, none, true, 'é<']} | tojson }}", '{"a": [1, null, true, "é<"]}'),
        ("{{ [1, [2]] | tojson(indent=2) }}", "[\n  1,\n  [\n    2\n  ]\n]"),
        ("{{ 'a\"b' | tojson }}", '"a\\"b"'),
        ("{{ 1.5 | tojson }}", "1.5"),
        ("{{ [1, 'a', none, [2]] | join('|') }}", "1|a||[2]"),
        ("{{ {'a': 1, 'b': 2} | join(',') }}", "a,b"),
        ("{{ 42 | upper }}", "42"),
        ("{{ none | upper }}", ""),
        ("{{ true | upper }}", "TRUE"),
        ("{{ 'aXbX' | replace('X', none) }}", "ab"),
        ("{{ 'ab' | replace('', '-') }}", "-a-b-"),
        ("{{ 'aaaa' | replace('a', 'b', count=2) }}", "bbaa"),
        ("{{ 1234 | replace(2, 'x') }}", "1x34"),
        ("{{ 'aa' | replace('a', 'b', -1) }}", "bb"),
        ("{{ {'a': 1} | first }}", "a"),
        ("{{ {'a': 1, 'b': 1} | last }}", "b"),
        ("{{ [1, 2, 3] | reverse }}", [3, 2, 1]),
        ("{{ 'abc' | reverse }}", "cba"),
        ("{{ [] | first | default('none') }}", "none"),
        ("{{ ([] | last) is defined }}", False),
        ("{{ 0 | default(5) }}", 0),
        ("{{ 0 | default(5, true) }}", 5),
        ("{{ x.y | default({'a': 1}) }}", {"a": 1}),
        ("{{ '\t a \n' | trim }}", "a"),
        ("{{ 'é' | lower | upper }}", "É"),
        ("{{ 'ß' | upper }}", "SS"),
    ],
)
def test_filters_give_what_they_say(source: str, shown: Any) -> None:
    assert value(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "{{ x | upper(1) }}",
        "{{ x | join(1, 2, 3) }}",
        "{{ x | join(e=1) }}",
        "{{ x | replace }}",
        "{{ x | replace('a') }}",
        "{{ x | replace(new='a') }}",
        "{{ x | join(',', d='') }}",
        "{{ x | truncate(length=1, length=2) }}",
    ],
)
def test_wrong_arguments_are_refused_when_the_template_is_read(source: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_template(source, LIMITS)
    assert caught.value.code == "template_argument"
