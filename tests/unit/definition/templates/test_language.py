"""The language is Jinja's: ordinary templates give what Jinja2 itself gives."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import jinja2
import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_template

LIMITS = Limits()
CONTEXT: dict[str, Any] = {
    "name": "Ada",
    "text": "one two three",
    "empty": "",
    "nothing": None,
    "yes": True,
    "count": 3,
    "ratio": 0.5,
    "list": [3, 1, 2],
    "words": ["pear", "Apple", "fig"],
    "pairs": [["a", 1], ["b", 2]],
    "person": {"name": "Ada", "born": 1815, "tags": ["x", "y"], "items": "the key"},
    "people": [{"name": "Bo", "age": 3}, {"name": "Al", "age": 2}, {"name": "Cy", "age": 2}],
    "nested": [[1, 2], [3]],
    "odd": {"a b": 1, "ключ": 2},
}

ORDINARY = (
    "plain text",
    "",
    "Hello {{ name }}!",
    "{{ person.name }} {{ person['born'] }}",
    "{{ list[0] }}",
    "{{ list[-1] }}",
    "{{ list.0 }}",
    "{{ text[0] }}{{ text[-1] }}",
    "{{ list[1:] }}",
    "{{ list[:-1] }}",
    "{{ list[::2] }}",
    "{{ text[4:7] }}",
    "{{ text[::-1] }}",
    "{{ odd['a b'] }}",
    "{{ odd.ключ }}",
    "{{ person.tags[1] }}",
    "{{ person['na' ~ 'me'] }}",
    "{{ list }}",
    "{{ person.tags }}.",
    "{{ yes }}",
    "{{ not yes }}",
    "{{ nothing }}.",
    "{{ count }}",
    "{{ ratio }}",
    "{{ 1.0 }}",
    "{{ 1e3 }}",
    "{{ 0x1f }}",
    "{{ 1_000 }}",
    "{{ 'a' 'b' }}",
    '{{ "it\'s" }}',
    "{{ 'a\\nb\\t\\x41\\u00e9' }}",
    "{{ '\\d' }}",
    "{{ 1 + 2 * 3 }}",
    "{{ (1 + 2) * 3 }}",
    "{{ 7 // 2 }}",
    "{{ 7 % 3 }}",
    "{{ -7 // 2 }}",
    "{{ 7 / 2 }}",
    "{{ 2 ** 10 }}",
    "{{ 2 ** 3 ** 2 }}",
    "{{ -count }}",
    "{{ +count }}",
    "{{ 2 ** -1 }}",
    "{{ 'ab' * 3 }}",
    "{{ 3 * 'ab' }}",
    "{{ 'a' + 'b' }}",
    "{{ [1] + [2] }}",
    "{{ [0] * 3 }}",
    "{{ name ~ count ~ '!' }}",
    "{{ count == 3 }}",
    "{{ count != 3 }}",
    "{{ 1 < 2 < 3 }}",
    "{{ 1 < 2 > 3 }}",
    "{{ 'a' < 'b' }}",
    "{{ 3 >= 3.0 }}",
    "{{ 1 == 1.0 }}",
    "{{ 1 == true }}",
    "{{ '1' == 1 }}",
    "{{ none == false }}",
    "{{ [1, 2] == [1, 2] }}",
    "{{ {'a': 1} == {'a': 1} }}",
    "{{ [1] == [1, 2] }}",
    "{{ 1 in list }}",
    "{{ 9 not in list }}",
    "{{ 'two' in text }}",
    "{{ 'name' in person }}",
    "{{ [1, 2] in nested }}",
    "{{ yes and name }}",
    "{{ '' or name }}",
    "{{ nothing or 0 }}.",
    "{{ not nothing }}",
    "{{ 0 and x }}",
    "{{ 'a' if yes else 'b' }}",
    "{{ 'a' if empty else 'b' }}",
    "{{ 'a' if empty }}.",
    "{{ 1 if false else 2 if false else 3 }}",
    "{{ {'a': [1, {'b': none}]} }}.",
    "{{ [] }}.",
    "{{ {} }}.",
    "{% if yes %}a{% endif %}",
    "{% if nothing %}a{% else %}b{% endif %}",
    "{% if empty %}a{% elif count == 3 %}b{% else %}c{% endif %}",
    "{% if list %}x{% endif %}",
    "{% for x in list %}{{ x }},{% endfor %}",
    "{% for x in [] %}x{% else %}none{% endfor %}",
    "{% for a, b in pairs %}{{ a }}={{ b }};{% endfor %}",
    "{% for (a, b) in pairs %}{{ b }}{% endfor %}",
    "{% for x in list if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for x in list if x > 9 %}x{% else %}none{% endfor %}",
    "{% for k in person %}{{ k }} {% endfor %}",
    "{% for c in name %}{{ c }}-{% endfor %}",
    "{% for k in person %}{{ person[k] }}|{% endfor %}",
    "{% for x in list %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{% endfor %}",
    "{% for x in list %}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}",
    "{% for x in list %}{{ loop.previtem|default(0) }}{{ loop.nextitem|default }};{% endfor %}",
    "{% for x in list %}{% if not loop.last %}{{ x }}, {% else %}{{ x }}.{% endif %}{% endfor %}",
    "{% for r in nested %}{% for x in r %}{{ loop.index }}{% endfor %}{{ loop.last }}{% endfor %}",
    "{% for r in nested %}{% set o = loop %}{% for x in r %}{{ o.index }}{% endfor %}{% endfor %}",
    "{% set x = 1 %}{{ x }}",
    "{% set x, y = 1, 2 %}{{ y }}{{ x }}",
    "{% set x = [1, 2] %}{{ x[1] }}",
    "{% set x = 1 %}{% for i in list %}{% set x = i %}{% endfor %}{{ x }}",
    "{% set x = 1 %}{% for i in list %}{{ x }}{% set x = i %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% for i in list %}{% if i == 1 %}{% set y = i %}{% endif %}{% endfor %}{{ y is defined }}",
    "{% for name in list %}{{ name }}{% endfor %}{{ name }}",
    "{{ name }}{% set name = 'B' %}{{ name }}",
    "{% for x in list %}{% endfor %}{{ x is defined }}",
    "{% set x %}a{{ name }}b{% endset %}{{ x }}",
    "{% set x | upper | trim %} a{{ name }}b {% endset %}{{ x }}",
    "{% set y = 1 %}{% set x %}{% set y = 2 %}{{ y }}{% endset %}{{ x }}{{ y }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with %}x{% endwith %}",
    "{% raw %}{{ name }}{% endraw %}",
    "{# a comment #}x",
    "a {#- c -#} b",
    "{{- name -}}  x",
    "  {%- if yes -%}  a  {%- endif %} b",
    "{% if yes +%} a{% endif %}",
    "x\n{% if yes %}\ny\n{% endif %}\nz\n",
    "{{ name|upper }}",
    "{{ name | lower }}",
    "{{ list|length }}",
    "{{ text|length }}",
    "{{ person|length }}",
    "{{ list|join }}",
    "{{ list|join(', ') }}",
    "{{ words|join(d='-') }}",
    "{{ people|join(', ', attribute='name') }}",
    "{{ 'abc'|join('-') }}",
    "{{ missing|default('d') }}",
    "{{ missing|default }}.",
    "{{ empty|default('d') }}.",
    "{{ empty|default('d', true) }}",
    "{{ nothing|default('d') }}.",
    "{{ nothing|default('d', boolean=true) }}",
    "{{ person.missing|default('d') }}",
    "{{ missing|default(other|default('e')) }}",
    "{{ '  a '|trim }}.",
    "{{ 'xxaxx'|trim('x') }}",
    "{{ text|replace('two', '2') }}",
    "{{ 'aaa'|replace('a', 'b', 2) }}",
    "{{ list|first }}",
    "{{ list|last }}",
    "{{ text|first }}",
    "{{ list|sort }}.",
    "{{ list|sort(reverse=true) }}.",
    "{{ list|sort(true) }}.",
    "{{ words|sort }}.",
    "{{ words|sort(case_sensitive=true) }}.",
    "{{ people|sort(attribute='age')|join(',', attribute='name') }}",
    "{{ text|reverse }}",
    "{{ list|reverse|join }}",
    "{{ people|sort(attribute='age', reverse=true)|join(attribute='name') }}",
    "{{ [1, {'a': none}]|tojson }}",
    "{{ 'é'|upper }}",
    "{{ ('a' ~ 1)|upper }}",
    "{{ name|upper|lower }}",
    "{{ name is defined }}",
    "{{ missing is defined }}",
    "{{ missing is undefined }}",
    "{{ nothing is none }}",
    "{{ count is number }}",
    "{{ ratio is number }}",
    "{{ name is number }}",
    "{{ name is string }}",
    "{{ person is mapping }}",
    "{{ list is mapping }}",
    "{{ list is sequence }}",
    "{{ name is sequence }}",
    "{{ count is sequence }}",
    "{{ yes is boolean }}",
    "{{ count is boolean }}",
    "{{ name is not none }}",
    "{{ person.missing is defined }}",
    "{{ name is defined and name }}",
    "{{ count if count is number else 0 }}",
    "{% print name %}",
    "{{ missing is defined or 'x' }}",
    "{{ person.born - 1800 > 10 and 'old' }}",
)


def oracle(source: str) -> str:
    """Jinja2 with the rules that are ours: strict, data as JSON, keys before attributes."""

    class Keys(jinja2.Environment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            if isinstance(obj, dict):
                return obj.get(attribute, self.undefined(obj=obj, name=attribute))
            return super().getattr(obj, attribute)

    def finalize(value: Any) -> Any:
        if value is None:
            return ""
        if isinstance(value, str | jinja2.Undefined):
            return value
        return json.dumps(value, ensure_ascii=False)

    environment = Keys(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        finalize=finalize,
        autoescape=False,
    )
    return environment.from_string(source).render(CONTEXT)


@pytest.mark.parametrize("source", ORDINARY)
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_an_ordinary_template_gives_what_jinja_gives(source: str) -> None:
    assert parse_template(source, LIMITS).render(CONTEXT) == oracle(source)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ list }}", [3, 1, 2]),
        ("  {{ person }}\n", CONTEXT["person"]),
        ("{{ count }}", 3),
        ("{{ yes }}", True),
        ("{{ nothing }}", None),
        ("{{ ratio * 2 }}", 1.0),
        ("{{ count == 3 }}", True),
        ("{{ 'a' if empty }}", None),
        ("{{ 1, 2 }}", [1, 2]),
        ("{{ (1, (2, 3)) }}", [1, [2, 3]]),
        ("{# note #}{{ count }}", 3),
        ("{{ name }}", "Ada"),
        ("{{ count }}{{ count }}", "33"),
        ("n: {{ count }}", "n: 3"),
        ("{% if yes %}{{ count }}{% endif %}", "3"),
        ("text", "text"),
    ],
)
def test_one_expression_alone_keeps_its_type(source: str, shown: Any) -> None:
    assert parse_template(source, LIMITS).value(CONTEXT) == shown
    assert type(parse_template(source, LIMITS).value(CONTEXT)) is type(shown)


def test_a_value_is_handed_on_and_not_copied() -> None:
    assert parse_template("{{ person }}", LIMITS).value(CONTEXT) is CONTEXT["person"]


def test_keys_come_before_everything() -> None:
    template = parse_template("{{ x.items }} {{ x.keys }} {{ x.get }}", LIMITS)
    assert template.render({"x": {"items": 1, "keys": 2, "get": 3}}) == "1 2 3"


def test_moments_read_as_iso_8601() -> None:
    context = {"at": datetime(2026, 5, 26, 8, 0, tzinfo=UTC), "on": date(2026, 5, 26)}
    assert parse_template("{{ at }} {{ on }}", LIMITS).render(context) == (
        "2026-05-26T08:00:00+00:00 2026-05-26"
    )
    assert parse_template("{{ [at] }}", LIMITS).value(context) == ["2026-05-26T08:00:00+00:00"]
    assert parse_template("{{ {'at': at} }}.", LIMITS).render(context) == (
        '{"at": "2026-05-26T08:00:00+00:00"}.'
    )
    assert parse_template("{{ on }}", LIMITS).value(context) == "2026-05-26"
    assert parse_template("{{ at < at }}", LIMITS).value(context) is False


def test_a_tuple_in_the_data_leaves_as_a_list() -> None:
    assert parse_template("{{ x }}", LIMITS).value({"x": {"a": (1, (2,))}}) == {"a": [1, [2]]}


def test_none_is_nothing_in_text_and_null_in_json() -> None:
    template = parse_template("<{{ x }}> {{ [x] }} {{ x | tojson }}", LIMITS)
    assert template.render({"x": None}) == "<> [null] null"


def test_a_literal_is_not_touched() -> None:
    for source in ("", "a\r\nb\n", "{ not } a %} template #}", "{ {x} }", "é"):
        template = parse_template(source, LIMITS)
        assert template.is_literal
        assert template.render({}) == source
        assert template.value({}) == source


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("{{ missing }}", "'missing'"),
        ("{{ person.missing }}", "'person.missing'"),
        ("{{ person.missing.more }}", "'person.missing'"),
        ("{{ person['missing'] }}", "'person.missing'"),
        ("{{ list[7] }}", "'list[7]'"),
        ("{{ name.upper }}", "'name.upper'"),
        ("{{ people[0].nme }}", "'people[0].nme'"),
        ("{{ person[name] }}", "person['Ada']"),
        ("{% for x in missing %}{% endfor %}", "'missing'"),
        ("{% if missing %}{% endif %}", "'missing'"),
        ("{% set x = missing %}", "'missing'"),
        ("{{ missing == 1 }}", "'missing'"),
        ("{{ missing or 1 }}", "'missing'"),
        ("{{ not missing }}", "'missing'"),
        ("{{ [missing] }}", "'missing'"),
        ("{{ missing ~ 'a' }}", "'missing'"),
        ("{{ missing|upper }}", "'missing'"),
        ("{{ missing|length }}", "'missing'"),
        ("{{ missing is none }}", "'missing'"),
        ("{{ (missing + 1)|default(2) }}", "'missing'"),
        ("{{ []|first }}", "first"),
        ("{{ loop.index }}", "'loop'"),
    ],
)
def test_what_is_missing_is_named(source: str, named: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_template(source, LIMITS).render(CONTEXT)
    assert refusal.value.code == "template_undefined"
    assert named in refusal.value.detail


def test_absence_on_the_way_is_absence() -> None:
    template = parse_template("{{ a.b[0].c|default('d') }}{{ a.b.c is defined }}", LIMITS)
    contexts: tuple[dict[str, Any], ...] = (
        {},
        {"a": {}},
        {"a": {"b": []}},
        {"a": {"b": [{}]}},
        {"a": None},
    )
    for context in contexts:
        assert template.render(context) == "dfalse"


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(Invalid) as refusal:
        parse_template("{{ person.bron }}", LIMITS).render(CONTEXT)
    assert refusal.value.suggestion == "Did you mean 'born'?"
    with pytest.raises(Invalid) as refusal:
        parse_template("{{ peple }}", LIMITS).render(CONTEXT)
    assert refusal.value.suggestion == "Did you mean 'people'?"


def test_a_refusal_says_the_line() -> None:
    source = "one\ntwo {{ name }}\n{% if yes %}\n  {{ missing }}\n{% endif %}"
    with pytest.raises(Invalid) as refusal:
        parse_template(source, LIMITS).render(CONTEXT)
    assert refusal.value.detail.startswith("Line 4: ")


@pytest.mark.parametrize(
    "source",
    [
        "{{ 1 + 'a' }}",
        "{{ 'a' + 1 }}",
        "{{ [1] + 'a' }}",
        "{{ yes + 1 }}",
        "{{ none + 1 }}",
        "{{ 'a' - 'b' }}",
        "{{ 'a' * 'b' }}",
        "{{ 'a' * 1.5 }}",
        "{{ {} * 2 }}",
        "{{ '%s' % 1 }}",
        "{{ 'a' / 2 }}",
        "{{ -'a' }}",
        "{{ +[] }}",
        "{{ 1 / 0 }}",
        "{{ 1 // 0 }}",
        "{{ 1 % 0 }}",
        "{{ 0 ** -1 }}",
        "{{ (-8) ** 0.5 }}",
        "{{ 2 ** 4000 }}",
        "{{ 2 ** 2047 * 4 }}",
        "{{ 1e308 * 10 }}",
        "{{ 1 < 'a' }}",
        "{{ [1] < [2] }}",
        "{{ none < 1 }}",
        "{{ 1 in 5 }}",
        "{{ 1 in 'a' }}",
        "{{ {1: 2} }}",
        "{{ {none: 2} }}",
        "{{ list['a':] }}",
        "{{ list[::0] }}",
        "{{ count[1:] }}",
        "{% for x in 5 %}{% endfor %}",
        "{% for x in none %}{% endfor %}",
        "{% for a, b in [1] %}{% endfor %}",
        "{% for a, b in [[1]] %}{% endfor %}",
        "{% set a, b = 1 %}",
        "{{ big }}",
        "{{ infinite }}",
        "{{ [infinite] }}",
        "{{ big ~ '' }}",
        "{{ big + 1 }}",
        "{{ infinite + 1 }}",
        "{{ numbered }}",
        "{{ numbered|tojson }}",
        "{{ at < naive }}",
        "{{ [at, naive]|sort }}",
    ],
)
def test_a_mistake_is_a_sentence(source: str) -> None:
    context = {
        **CONTEXT,
        "big": 2**3000,
        "infinite": float("inf"),
        "numbered": {1: 2},
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "naive": datetime(2026, 1, 1),  # noqa: DTZ001
    }
    with pytest.raises(Invalid) as refusal:
        parse_template(source, LIMITS).value(context)
    assert refusal.value.code == "template_value"
    assert refusal.value.detail.startswith("Line 1: ")
    assert refusal.value.detail.endswith(".")


def test_data_is_never_a_template() -> None:
    hostile = "{{ 7 * 7 }}{% for x in y %}{# #}{{ secrets.key }}"
    context = {"x": hostile, "l": [hostile]}
    assert parse_template("{{ x }}", LIMITS).value(context) == hostile
    assert parse_template("a{{ x }}b", LIMITS).render(context) == f"a{hostile}b"
    assert parse_template("{% set y = x %}{{ y|default('') }}", LIMITS).render(context) == hostile
    assert parse_template("{{ l|join }}", LIMITS).value(context) == hostile


def test_a_template_cannot_change_the_data() -> None:
    context: dict[str, Any] = {"x": {"a": [3, 1, 2]}}
    source = "{% set x = {'b': 1} %}{% for a in [1] %}{% set x = a %}{% endfor %}{{ [3, 1]|sort }}"
    parse_template(source, LIMITS).render(context)
    parse_template("{{ x.a|sort }}{{ x.a|reverse }}{{ x.a + [1] }}", LIMITS).render(context)
    assert context == {"x": {"a": [3, 1, 2]}}
