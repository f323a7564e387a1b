"""A secret is in approved text by name, and data never becomes one."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.templates import parse_predicate, parse_template

LIMITS = Limits()
KEY = SecretRef("api_key")


def test_a_secret_is_given_by_name_between_the_text() -> None:
    template = parse_template("Bearer {{ secrets.api_key }}!{{ x }}", LIMITS, secrets=True)
    assert template.secret_names == {"api_key"}
    assert not template.is_literal
    assert template.render({"x": 1}) == SecretText(("Bearer ", KEY, "!1"))


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("{{ secrets.api_key }}", (KEY,)),
        (" {{ secrets.api_key }}\n", (" ", KEY, "\n")),
        ("{{ secrets.api_key }}{{ secrets.api_key }}", (KEY, KEY)),
        ("a{{ x }}b{{ x }}{{ secrets.api_key }}", ("a1b1", KEY)),
        ("{% if x %}{{ secrets.api_key }}{% endif %}", (KEY,)),
        ("a{% if not x %}{{ secrets.api_key }}{% endif %}b", ("ab",)),
        ("{% if not x %}{{ secrets.api_key }}{% endif %}", ()),
        ("{% for i in [1, 2] %}{{ i }}{{ secrets.api_key }}{% endfor %}", ("1", KEY, "2", KEY)),
        ("{{ '' }}{{ secrets.api_key }}{{ none }}", (KEY,)),
    ],
)
def test_the_parts_are_in_order(source: str, parts: tuple[str | SecretRef, ...]) -> None:
    template = parse_template(source, LIMITS, secrets=True)
    assert template.render({"x": 1}) == SecretText(parts)
    assert template.value({"x": 1}) == SecretText(parts)


def test_a_template_without_secrets_gives_plain_text_in_the_same_place() -> None:
    template = parse_template("{{ x }}", LIMITS, secrets=True)
    assert template.secret_names == frozenset()
    assert template.value({"x": [1]}) == [1]
    assert template.render({"x": 1}) == "1"


@pytest.mark.parametrize(
    "data",
    [
        "{{ secrets.api_key }}",
        "[secret api_key]",
        "\x00api_key\x00",
        "SecretRef(name='api_key')",
        "api_key",
    ],
)
def test_data_never_becomes_a_secret(data: str) -> None:
    template = parse_template("{{ secrets.api_key }}{{ x }}", LIMITS, secrets=True)
    assert template.render({"x": data}) == SecretText((KEY, data))
    assert template.render({"x": [data]}).parts[0] == KEY  # type: ignore[union-attr]
    assert parse_template("{{ x }}", LIMITS, secrets=True).render({"x": data}) == data


def test_a_marker_in_the_data_is_not_passed_through() -> None:
    for marker in (KEY, SecretText((KEY,))):
        with pytest.raises(Invalid):
            parse_template("{{ x }}", LIMITS, secrets=True).value({"x": marker})
        with pytest.raises(Invalid):
            parse_template("a{{ x.y }}", LIMITS).value({"x": {"y": marker}})


def test_a_value_called_secrets_cannot_be_read() -> None:
    template = parse_template("{{ secrets.api_key }}", LIMITS, secrets=True)
    assert template.render({"secrets": {"api_key": "stolen"}}) == SecretText((KEY,))


@pytest.mark.parametrize(
    "source",
    [
        "{{ secrets }}",
        "{{ secrets['api_key'] }}",
        "{{ publisher['BILLING_KEY'] }}",
        "{{ publisher['BILLING_KEY']|upper }}",
        "{{ secrets.api_key|upper }}",
        "{{ secrets.a.b }}",
        "{{ secrets.api_key ~ '' }}",
        "{{ [secrets.api_key] }}",
        "{{ secrets.api_key == 'x' }}",
        "{% if secrets.api_key %}{% endif %}",
        "{% set x = secrets.api_key %}",
        "{% set secrets = 1 %}",
        "{% set x %}{{ secrets.api_key }}{% endset %}",
        "{% for s in secrets %}{% endfor %}",
        "{% set x %}{% if y %}{{ secrets.api_key }}{% endif %}{% endset %}",
        "{{ secrets.api_key if x else y }}",
        "{{ x[secrets.api_key] }}",
        "{{ secrets.api_key is defined }}",
        "{{ secrets.api_key|default('x') }}",
        "{% with s = secrets %}{% endwith %}",
        "{{ secrets.API_KEY }}",
        "{{ secrets._key }}",
        "{{ secrets.ключ }}",
        "{{ secrets." + "a" * 65 + " }}",
        "{{ (secrets.api_key, 1) }}",
        "{{ secrets.0 }}",
        "{% for secrets in x %}{% endfor %}",
        "{{ x.y(secrets.api_key) }}",
    ],
)
def test_any_other_use_is_refused_when_read(source: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_template(source, LIMITS, secrets=True)
    assert refusal.value.code in {"template_secret", "template_name", "template_unsupported"}


def test_the_message_says_where_secrets_are_allowed() -> None:
    for source in (
        "{{ secrets.api_key }}",
        "{{ secrets }}",
        "{% if secrets.a %}{% endif %}",
        "{{ publisher['BILLING_KEY'] }}",
    ):
        with pytest.raises(Invalid) as refusal:
            parse_template(source, LIMITS)
        assert refusal.value.code == "template_secret"
        assert "headers" in (refusal.value.suggestion or "")
    for source in ("secrets", "secrets.api_key == 'x'", "{{ secrets.api_key }}"):
        with pytest.raises(Invalid) as refusal:
            parse_predicate(source, LIMITS)
        assert refusal.value.code == "template_secret"


def test_the_same_source_is_judged_by_its_place() -> None:
    assert parse_template("{{ secrets.k }}", LIMITS, secrets=True).secret_names == {"k"}
    with pytest.raises(Invalid):
        parse_template("{{ secrets.k }}", LIMITS)


def test_the_text_around_secrets_is_bounded_too() -> None:
    with pytest.raises(Invalid) as refusal:
        parse_template("{{ secrets.k }}{{ x }}{{ x }}", LIMITS, secrets=True).render(
            {"x": "x" * 600_000}
        )
    assert refusal.value.code == "template_too_large"
    many = "{% for i in x %}{{ secrets.k }}{% endfor %}"
    with pytest.raises(Invalid) as refusal:
        parse_template(many, LIMITS, secrets=True).render({"x": list(range(100_000))})
    assert refusal.value.code == "template_too_much_work"
