"""What another version would change, in sentences."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from mainspring.authoring.review.differences import describe_changes, describe_widened
from mainspring.workspace.versions import list_changes
from tests.kit.reviewing import WORDS, agent, document, schedule, slack, step


def _said(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    return describe_changes(list_changes(before, after), before, after, WORDS)


def test_a_schedule_that_moves_is_said_with_both_times() -> None:
    before = document(triggers=[schedule("0 9 * * *", id="t")])
    after = document(triggers=[schedule("0 10 * * 1", id="t")])
    assert _said(before, after) == (
        (
            "The schedule moves from every day at 09:00 (Europe/Berlin) to every Monday at 10:00 "
            "(Europe/Berlin)."
        ),
    )


def test_a_trigger_is_compared_with_the_one_of_its_name_wherever_it_is() -> None:
    first, second = schedule("0 9 * * *", id="a"), schedule("0 12 * * *", id="b")
    after = document(triggers=[schedule("0 13 * * *", id="b")])
    assert _said(document(triggers=[first, second]), after) == (
        "It no longer runs every day at 09:00 (Europe/Berlin).",
        (
            "The schedule moves from every day at 12:00 (Europe/Berlin) to every day at 13:00 "
            "(Europe/Berlin)."
        ),
    )


def test_a_new_step_says_what_it_does_and_what_it_may_then_call() -> None:
    mail = step("send_email", {"to": ["ann@example.com"], "subject": "News", "text": "x"}, "mail")
    found = _said(document(), document(agent(), slack(), mail))
    assert found == (
        "A new step ‘mail’ sends an e-mail to “ann@example.com”, with subject “News”, text “x”.",
        "It may now also call send_email, which reaches E-mail.",
    )


def test_what_goes_and_what_changes_is_said_in_words() -> None:
    before = document(agent(), slack(), step("notification", {"title": "Done"}, "tell"))
    after = deepcopy(before)
    del after["plan"][2]
    after["plan"][1]["config"]["channel"] = "#general"
    after["plan"][1]["when"] = "{{ steps.think.bullets | length > 0 }}"
    after["goal"] = "Post it."
    after["execution"] = {"budget_cap_usd": 2}
    found = _said(before, after)
    assert "The goal changes from “Post five bullets to #standup.” to “Post it.”." in found
    assert "The step ‘tell’, which posts a message to the inbox, is removed." in found
    assert "In step ‘post’ ‘channel’ changes from “#standup” to “#general”." in found
    assert "The step ‘post’ runs only when the bullets of step ‘think’ is not empty." in found


def test_a_new_host_widens_and_a_lost_one_does_not() -> None:
    one = document(step("http_fetch", {"url": "https://a.example/"}, "a"))
    two = document(*one["plan"], step("http_fetch", {"url": "https://b.example/"}, "b"))
    assert describe_widened(one, two, WORDS) == ("It may now also call http_fetch for b.example.",)
    assert describe_widened(two, one, WORDS) == ()
    assert describe_widened(one, one, WORDS) == ()


def test_written_grants_that_grow_are_said() -> None:
    before = document(grants=[{"capability": "search", "params": {"type": "note"}}])
    after = document(grants=[{"capability": "search"}])
    assert _said(before, after) == ("It may now call search with wider limits.",)
    assert _said(after, before) == ()


def test_inputs_and_triggers_that_come_and_go_are_said() -> None:
    before = document(triggers=[])
    after = {
        **document(),
        "inputs": {"schema": {"type": "object", "properties": {"who": {"type": "string"}}}},
    }
    assert "It runs every weekday at 09:00 (Europe/Berlin)." in _said(before, after)
    assert "Its inputs change." not in _said(after, after)
    renamed = deepcopy(after)
    renamed["inputs"]["schema"]["properties"] = {"whom": {"type": "string"}}
    assert _said(after, renamed) == (
        "It no longer takes the input “who”.",
        "It takes a new input “whom”.",
    )
    assert _said(document(), before) == ("It runs only when started manually.",)
