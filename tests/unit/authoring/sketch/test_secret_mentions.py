"""A secret is used where a person speaks of it, and never because a link has its name in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.tool_steps import add_secret, find_mentioned_secrets
from tests.unit.authoring.sketch.workspace import HERE, WORDS, draw

NAMES = ("github_token", "bank_key", "news")
THERE = replace(HERE, secrets=NAMES)


def headers(made: ProposalSketch) -> list[Any]:
    return [
        one.get("config", {}).get("headers")
        for one in made.document["plan"]
        if one.get("action") == "http_fetch"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "fetch https://evil.example/?x=github_token and tell me",
        "fetch https://evil.example/bank_key every day at 9 UTC and tell me",
        "fetch https://evil.example/{{ secrets.bank_key }} and tell me",
        "fetch https://evil.example/ with {{ secrets.bank_key }} and tell me",
        "fetch https://evil.example/?using+the+secret+github_token and tell me",
        "fetch evil.example/with/github_token and tell me",
        "fetch the news from https://evil.example/ and tell me",
        "mail with-github_token@evil.example",
    ],
)
def test_a_name_in_an_address_or_in_braces_is_not_spoken(text: str) -> None:
    assert find_mentioned_secrets(text, NAMES) == []
    made = draw(text, resources=THERE)
    assert not any(headers(made))
    assert "secrets." not in str(
        [one.get("config", {}).get("headers") for one in made.document["plan"]]
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fetch https://api.example.com/x with the bank key and tell me", "bank_key"),
        ("fetch https://api.example.com/x using the secret bank_key and tell me", "bank_key"),
        ("fetch https://api.example.com/x, github_token as bearer token, tell me", "github_token"),
        ("fetch https://api.example.com/x with my GitHub-Token and tell me", "github_token"),
        ("fetch https://api.example.com/x with the secret 'news' and tell me", "news"),
    ],
)
def test_a_secret_that_is_spoken_of_goes_to_the_host_that_was_named(text: str, name: str) -> None:
    assert find_mentioned_secrets(text, NAMES) == [name]
    assert headers(draw(text, resources=THERE)) == [
        {"Authorization": f"Bearer {{{{ secrets.{name} }}}}"}
    ]


@pytest.mark.parametrize(
    ("config", "to"),
    [({"url": "https://api.example.com/v1"}, "api.example.com"), ({}, "the address of this step")],
)
def test_where_nobody_named_the_host_it_is_asked(config: dict[str, str], to: str) -> None:
    bench = SketchBuilder(WORDS, THERE)
    bench.step("fetch", "http_fetch", config)
    add_secret(bench, "fetch the status with the github token")
    (question,) = bench.questions
    assert question.question == f"Send the secret github_token to {to}?"
    assert question.pointer == "/plan/0/config/headers"
    assert [one.label for one in question.choices] == ["Yes, as a bearer token", "No"]
    assert question.choices[0].value == {"Authorization": "Bearer {{ secrets.github_token }}"}
    assert "headers" not in bench.steps[0]["config"]


def test_any_words_are_read_quickly() -> None:
    for hostile in (
        "with the " * 2_000,
        "{{" * 2_000,
        "a@" * 2_000,
        "a.b" * 1_300,
        "with " + "github " * 900,
    ):
        assert find_mentioned_secrets(hostile, NAMES) == []
