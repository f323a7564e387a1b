"""What a tool does is read from its name, its hints and a person's word, in that much doubt."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.connections.mcp_servers.tool_effects import (
    DELETES,
    READS,
    USER_VISIBLE,
    WRITES,
    judge,
)
from mainspring.contracts.capability import Effect


def names(text: str) -> list[str]:
    return text.split()


READ, SEND = Effect.READ, Effect.SEND
ONLY_READS: dict[str, Any] = {"readOnlyHint": True}
CHANGES: dict[str, Any] = {"readOnlyHint": False}
DESTROYS: dict[str, Any] = {"destructiveHint": True}
OPEN: dict[str, Any] = {"openWorldHint": True}
ALMOST = names(
    "query resolve_incident resolve_review_thread convert_lead watch_repository check_in "
    "check_out_cart validate_payment ping_user show_notification export_to_drive translate "
    "preview browse fetch fetch_url fetch_queue_message issue_read"
)
DEEDS = names(
    "browser_click delete_issue sendMessage createIssue update_row deleteuser DELETE dELETE_user "
    "post_message postmessage ban_user wire_money get_reset_link diff_apply mark_as_read "
    "get_or_create_user get_or_reset_password list_and_delete list_and_archive find_and_ban_user "
    "find_and_move_file fetch_and_post check_and_charge_card check_out_cart preview_and_sign "
    "search_and_unsubscribe peek_and_ack read_and_mark readThenCall get_and_delete email_search_now"
)


@pytest.mark.parametrize(
    ("name", "hints", "text", "effect"),
    [
        # A clean name that begins with a word for reading.
        ("get_issue", {}, None, READ),
        ("list_updates", {}, None, READ),
        ("list_open_issues", {}, None, READ),
        ("searchPosts", {}, None, READ),
        ("get_comment", {}, None, READ),
        ("get_workflow_run", {}, None, READ),
        ("read-file", {}, None, READ),
        ("lookup", {}, None, READ),
        ("search_web", {**ONLY_READS, **OPEN}, None, READ),
        ("get_issue", {**ONLY_READS, "destructiveHint": False}, None, READ),
        # Any other clean name, if the server says so and nothing speaks against it.
        ("weather", ONLY_READS, None, READ),
        ("query", ONLY_READS, None, READ),
        ("resolve-library-id", ONLY_READS, None, READ),
        ("check_status", ONLY_READS, None, READ),
        ("convert_currency", ONLY_READS, None, READ),
        ("issue_read", ONLY_READS, None, READ),
        ("pull_request_read", ONLY_READS, None, READ),
        ("weather", {**ONLY_READS, **OPEN}, None, SEND),
        ("weather", {}, None, SEND),
        ("weather", {"readOnlyHint": "yes"}, None, SEND),
        ("notes.fetch", {}, None, SEND),
        ("", {}, None, SEND),
        # Words that sound like reading and are not.
        *((name, {}, None, SEND) for name in ALMOST),
        ("resolve_review_thread", {"destructiveHint": False}, None, SEND),
        # Two deeds, or one that is no reading, whatever the server says.
        *((name, hints, None, SEND) for name in DEEDS for hints in ({}, ONLY_READS)),
        # What the server says against it.
        ("get_issue", CHANGES, None, SEND),
        ("get_issue", DESTROYS, None, SEND),
        ("get_issue", {"destructiveHint": False}, None, SEND),
        ("get_issue", {"idempotentHint": True}, None, SEND),
        ("weather", {**ONLY_READS, **DESTROYS}, None, SEND),
        ("lookup", {**ONLY_READS, **DESTROYS}, None, SEND),
        # A person's word.
        ("delete_issue", {}, "read", READ),
        ("get_issue", ONLY_READS, "send", SEND),
    ],
)
def test_an_uncertain_worker_publishes(
    name: str, hints: dict[str, Any], text: str | None, effect: Effect
) -> None:
    assert judge(name, hints, text).effect is effect


def test_side_effects_are_a_set_that_says_what_people_would_see() -> None:
    assert judge("get_issue", {}).side_effects == {READS}
    assert judge("create_row", {}).side_effects == {WRITES}
    assert judge("send_mail", {}).side_effects == {WRITES, USER_VISIBLE}
    assert judge("delete_row", {}).side_effects == {WRITES, DELETES}
    assert judge("update_row", DESTROYS).side_effects == {WRITES, DELETES}
    # Where nothing is known, somebody may see it.
    assert judge("weather", {}).side_effects == {WRITES, USER_VISIBLE}
    assert judge("send_mail", {}, "read").side_effects == {READS}


def test_what_tells_is_said() -> None:
    assert judge("delete_issue", ONLY_READS).why == "its name says 'delete'"
    assert judge("weather", ONLY_READS).why == "the server says that it only reads"
    assert judge("weather", {}, "read").why == "a person said so"
