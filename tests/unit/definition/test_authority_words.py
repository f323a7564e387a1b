"""What an automation may do is told in words, what reaches furthest first."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import additions, authority_of

BOARD = "01900000-0000-7000-8000-00000000000b"
DOCUMENT = {
    "triggers": [{"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}],
    "plan": [],
}
GRANTS = (
    Grant("automation_kv.get"),
    Grant("automation_kv.set"),
    Grant("automation_recent_failures"),
    Grant("automation_kv.delete", {"key": "k"}),
    Grant("get_board", {"board_id": BOARD}),
    Grant("append_board_rows", {"board_id": ["a", "b"], "max_rows": 5}),
    Grant("update_board_rows"),
    Grant("inbox.post_notification"),
    Grant("create_page"),
    Grant("update_page", {"slug": "log"}),
    Grant("gmail.send"),
    Grant("ingest_from_endpoint", {"hosts": ["b.example"]}),
    Grant("http_fetch", {"hosts": ["a.example"], "method": "GET"}),
)


def test_hosts_come_first_and_its_own_memory_is_one_sentence_at_the_end() -> None:
    whole = authority_of(DOCUMENT, GRANTS, Limits())
    assert [one.says for one in additions(None, whole)] == [
        "It may call ingest_from_endpoint to b.example.",
        "It may send requests to a.example (GET).",
        "It may call gmail.send.",
        "It may add rows to the boards a, b with max_rows up to 5.",
        "It may change rows of any board.",
        "It may leave messages in the inbox.",
        "It may write new pages.",
        "It may change the page log.",
        "It may spend up to 1 USD a day, should a step cost anything.",
        "It starts once a day.",
        f"It may read the board {BOARD}.",
        "It may call automation_kv.delete with key k.",
        "It may keep a small memory of its own.",
    ]
    assert additions(whole, whole) == ()


def test_no_two_permissions_share_a_sentence() -> None:
    names = (
        "append_board_rows", "update_board_rows", "delete_board_rows", "get_board", "list_boards",
        "create_page", "update_page", "get_page", "inbox.post_notification", "http_fetch",
        "board.read", "page.read",
    )  # fmt: skip
    bounds: tuple[dict[str, Any], ...] = (
        {}, {"board_id": "a"}, {"slug": "a"}, {"board_id": ["a"]}, {"name": "a"},
        {"hosts": ["a.example"]}, {"hosts": ["a.example"], "method": "GET"}, {"method": "GET"},
    )  # fmt: skip
    grants = [Grant(name, params) for name in names for params in bounds]
    nothing = authority_of({}, (), Limits())
    said = {
        one.says
        for grant in grants
        for one in additions(nothing, authority_of({}, [grant], Limits()))
    }
    assert len(said) == len(grants)
