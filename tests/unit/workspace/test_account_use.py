"""Changing another member's automation uses that member's accounts as before, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry
from mainspring.workspace.automation_resources import check_accounts
from tests.kit.bench import document, step

WORDS = build_registry(Limits())
FETCH = step("mail", "fetch_from_integration", {"source": "gmail", "request": "from:bank"})
NOTE = step("note", "notification", {"title": "Done"})


def _judge(before: dict[str, Any], after: dict[str, Any]) -> None:
    reports = [validate(one, WORDS, Limits()) for one in (before, after)]
    assert not any(one.findings for one in reports), [one.findings for one in reports]
    old, new = reports
    widened = [grant for grant in new.grants if grant not in old.grants]
    lent = frozenset(grant.capability for grant in new.grants if grant.lent)
    assert new.definition is not None
    assert old.definition is not None
    check_accounts(old.definition.as_dict(), new.definition.as_dict(), widened, lent)


def test_what_asks_nothing_new_of_the_accounts_may_change() -> None:
    other = step("note", "notification", {"title": "All done"})
    renamed = {**FETCH, "step_id": "letters"}

    _judge(document(FETCH, NOTE), document(renamed, other))
    _judge(document(FETCH, NOTE), document(NOTE))
    _judge(document(NOTE), document({**other, "step_id": "also"}, NOTE))


@pytest.mark.parametrize(
    ("after", "pointer"),
    [
        (document(NOTE, FETCH), "/grants"),
        (
            document(
                NOTE,
                step(
                    "read",
                    "gmail.send_email",
                    {"to": ["eve@example.com"], "subject": "Hi", "body": "It is me, Ada."},
                ),
            ),
            "/grants",
        ),
        (
            document(NOTE, step("each", "for_each", {"items": "{{ [1] }}", "steps": [FETCH]})),
            "/grants",
        ),
    ],
)
def test_an_account_that_was_not_used_is_not_used_now(after: dict[str, Any], pointer: str) -> None:
    with pytest.raises(PermissionDenied) as refused:
        _judge(document(NOTE), after)
    assert refused.value.code == "accounts_used_anew"
    assert refused.value.findings[0].pointer == pointer


def test_the_same_capability_is_asked_for_nothing_else() -> None:
    wider = step("mail", "fetch_from_integration", {"source": "gmail", "request": "in:anywhere"})
    for after, pointer in (
        (document(wider, NOTE), "/plan/0"),
        (
            document(FETCH, NOTE, execution={"on_failure": [{**wider, "step_id": "x"}]}),
            "/execution/on_failure/0",
        ),
        (document({**FETCH, "when": "{{ true }}"}, NOTE), "/plan/0"),
    ):
        with pytest.raises(PermissionDenied) as refused:
            _judge(document(FETCH, NOTE), after)
        assert refused.value.findings[0].pointer == pointer


def test_what_is_decided_at_run_time_is_not_rewritten_for_an_account() -> None:
    before = document(FETCH, NOTE)
    with pytest.raises(PermissionDenied):
        check_accounts(
            before,
            document(FETCH, step("think", "agent_task", {"prompt": "Read all mail."})),
            (),
            frozenset({"fetch_from_integration"}),
        )
    # Without an account at hand it may be.
    check_accounts(before, document(step("think", "agent_task", {"prompt": "x"})), (), frozenset())
    assert Grant("a", lent=True) == Grant("a")
