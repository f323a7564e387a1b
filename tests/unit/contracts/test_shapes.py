"""The types every package shares: errors, ids, secrets, registry, settings, limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import (
    KINDS,
    Finding,
    InternalError,
    Invalid,
    UpstreamError,
    as_problem,
    describe_for_log,
    problem_from_dict,
)
from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.contracts.limits import Limits, override_limits
from mainspring.contracts.registry import Registry
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.settings import BadSetting, read_settings


async def _nothing(ctx: object, config: object) -> None:
    del ctx, config


def test_a_problem_reads_back_as_what_it_was() -> None:
    finding = Finding("/a", "It is wrong.", "wrong", "Mend it.")
    problem = UpstreamError("Busy.", code="busy", retry_after=3.0, findings=[finding])
    again = problem_from_dict(problem.as_dict())
    assert type(again) is UpstreamError
    assert again.as_dict() == problem.as_dict()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_its_own_type_in_the_document(kind: str) -> None:
    shown = KINDS[kind]("x").as_dict()
    assert shown["type"] == f"urn:mainspring:problem:{kind}"
    assert type(problem_from_dict(shown)) is KINDS[kind]


def test_a_foreign_exception_tells_neither_its_class_nor_its_text() -> None:
    error = ValueError("password is hunter2 in /etc/secret")
    problem = as_problem(error)
    assert isinstance(problem, InternalError)
    assert "ValueError" not in str(problem.as_dict())
    assert "hunter2" not in str(problem.as_dict())
    assert "ValueError" in describe_for_log(error)
    assert "hunter2" not in describe_for_log(error)


def test_ids_sort_by_the_time_they_were_made() -> None:
    made = [generate_id() for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(one.version == 7 for one in made)
    now = datetime.now(UTC)
    assert (
        get_lowest_id_at(now - timedelta(seconds=5))
        < made[0]
        < get_lowest_id_at(now + timedelta(seconds=5))
    )


def test_a_secret_is_shown_by_its_name() -> None:
    text = SecretText(("Bearer ", SecretRef("api_key")))
    assert str(text) == "Bearer [secret api_key]"
    assert text.names == {"api_key"}


def test_one_name_is_registered_once() -> None:
    capability = Capability("a.b", "x", {}, {}, _nothing)
    action = Action("a.b", "x", {}, None, _nothing)
    with pytest.raises(InternalError, match="twice"):
        Registry(capabilities=[capability, capability])
    with pytest.raises(InternalError, match="both"):
        Registry(capabilities=[capability], actions=[action])


def test_settings_are_read_once_and_a_bad_one_is_named() -> None:
    settings = read_settings(
        {"MAINSPRING_SLOTS": "7", "MAINSPRING_EGRESS_ALLOW": "Localhost:80, x:1", "OTHER": "1"}
    )
    assert settings.slots == 7
    assert settings.egress_allow == {"localhost:80", "x:1"}
    for name, value in (("SLOTS", "0"), ("SLOTS", "many"), ("LEASE_SECONDS", "-1")):
        with pytest.raises(BadSetting, match=f"MAINSPRING_{name}"):
            read_settings({f"MAINSPRING_{name}": value})


def test_a_limit_is_set_by_its_name_and_an_unknown_one_is_refused() -> None:
    settings = read_settings({"MAINSPRING_LIMIT_STEPS": "5"})
    assert override_limits(settings.limits).steps == 5
    assert override_limits({}) == Limits()
    with pytest.raises(Invalid, match="no limit called"):
        override_limits({"stepps": 5})
