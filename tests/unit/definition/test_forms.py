"""What a form asks for, and which configs are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.authority_writes import find_added_triggers, read_enabled_triggers
from mainspring.definition.forms import FileRule, check_form, read_form, validate_submission
from mainspring.triggers.form_tokens import LIFETIME, check_form_token, make_form_token

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["email"],
    "properties": {
        "email": {"type": "string"},
        "days": {"type": "integer", "x-mainspring-source": "boards"},
        "cv": {"type": "object"},
    },
}


def _codes(config: dict[str, Any], **fixed: Any) -> list[tuple[str, str]]:
    return [(one.pointer, one.code) for one in check_form(config, SCHEMA, fixed, "/c")]


def test_pages_and_files_name_inputs() -> None:
    assert _codes({}) == []
    assert _codes({"pages": [{"fields": ["email", "days"]}], "files": {"cv": {}}}) == []
    assert _codes({"pages": [{"fields": ["email", "day"]}]}) == [
        ("/c/pages/0/fields/1", "unknown_input")
    ]
    assert _codes({"files": {"email": {}, "photo": {}}}) == [
        ("/c/files/email", "form_file_type"),
        ("/c/files/photo", "unknown_input"),
    ]


def test_a_field_is_asked_for_once_and_not_fixed() -> None:
    twice = {"pages": [{"fields": ["email"]}, {"fields": ["email"]}]}
    assert _codes(twice) == [("/c/pages/1/fields/0", "form_field_twice")]
    fixed = {"pages": [{"fields": ["email", "days"]}]}
    assert _codes(fixed, days=3) == [("/c/pages/0/fields/1", "form_field_fixed")]


def test_a_required_input_that_no_page_asks_for_is_refused() -> None:
    only_days = {"pages": [{"fields": ["days"]}]}
    assert _codes(only_days) == [("/c/pages", "missing_input")]
    assert _codes(only_days, email="a@b") == []


def test_a_form_shows_its_fields_without_the_resources_of_the_workspace() -> None:
    form = read_form({}, SCHEMA, {"cv": {}}, "Apply", Limits())
    assert (form.title, form.fields, form.is_public) == ("Apply", ("email", "days"), True)
    assert form.schema["properties"]["days"] == {"type": "integer"}
    assert form.schema["required"] == ["email"]


def test_values_are_validated_field_by_field() -> None:
    form = read_form({}, SCHEMA, {}, "Apply", Limits())
    validate_submission({"email": "a@b"}, form, SCHEMA, {}, Limits())
    for values, pointers in (
        ({}, ["/email"]),
        ({"email": 1, "days": "x"}, ["/email", "/days"]),
        ({"email": "a@b", "admin": True}, ["/admin"]),
    ):
        with pytest.raises(Invalid) as refused:
            validate_submission(values, form, SCHEMA, {}, Limits())
        assert sorted(one.pointer for one in refused.value.findings) == sorted(pointers)


@pytest.mark.parametrize(
    ("types", "media_type", "accepted"),
    [
        ((), "text/html", True),
        (("image/*",), "image/png", True),
        (("image/*",), "application/pdf", False),
        (("application/pdf",), "application/pdf", True),
    ],
)
def test_a_file_field_accepts_its_media_types(
    types: tuple[str, ...], media_type: str, accepted: bool
) -> None:
    assert FileRule(1, types).accepts(media_type) is accepted


def _added(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    was, now = read_enabled_triggers(before), read_enabled_triggers(after)
    return [text for _, text in find_added_triggers(was, now, " now")]


def _form(**config: Any) -> list[dict[str, Any]]:
    return [{"id": "form", "type": "form", "config": config}]


def test_opening_a_form_to_everyone_needs_consent() -> None:
    public = "Anyone with the link now can start this automation by its form."
    assert _added([], _form()) == [public]
    assert _added(_form(access="members"), _form()) == [public]
    assert _added(_form(), _form(access="members")) == []
    assert _added(_form(), _form(title="Other", rate_limit={"per_address": 2})) == []
    assert _added(_form(), _form(redirect="https://example.com")) == [
        "Its form now sends people to https://example.com."
    ]
    assert _added([], _form(access="members")) == ["It now starts by a form, for members."]


KEY, TRIGGER = b"k" * 32, UUID(int=7)
NOW = datetime(2026, 5, 26, 7, tzinfo=UTC)


def test_a_token_is_for_one_form_after_some_seconds_and_for_a_day() -> None:
    token = make_form_token(KEY, TRIGGER, NOW)
    soon = NOW + timedelta(seconds=2)
    assert check_form_token(KEY, TRIGGER, token, soon, 2)
    for key, trigger, given, now, code in (
        (KEY, TRIGGER, token, NOW + timedelta(seconds=1.9), "form_too_fast"),
        (KEY, TRIGGER, token, NOW + LIFETIME + timedelta(seconds=1), "form_expired"),
        (KEY, UUID(int=8), token, soon, "form_token"),
        (b"x" * 32, TRIGGER, token, soon, "form_token"),
        (KEY, TRIGGER, "9" + token, soon, "form_token"),
        (KEY, TRIGGER, "", soon, "form_token"),
    ):
        with pytest.raises(Problem) as refused:
            check_form_token(key, trigger, given, now, 2)
        assert refused.value.code == code
    assert make_form_token(KEY, TRIGGER, NOW) != token
