"""Recipes and installs in the words of the command line."""

from __future__ import annotations

from mainspring.surfaces.cli.codex_view import (
    check_lines,
    plain_preview,
    recipe_lines,
    required_settings,
)

RECIPE = {
    "name": "Check",
    "kind": "automation",
    "version": "1.0.0",
    "description": "Looks.",
    "publisher": "Ada",
    "preview": "> # It is **down**\n> - `503` *now*",
    "may": ["It may call http_fetch to <host>.", "It starts once a day."],
    "hosts": ["{{ install.settings.host }}", "{{ install.board.id }}"],
    "settings": [
        {"name": "host", "label": "The host", "type": "string"},
        {"name": "path", "label": "The path", "type": "string", "default": "/"},
        {"name": "note", "label": "A note", "type": "string", "required": False},
    ],
}


def test_a_recipe_says_what_it_may_do_and_which_settings_it_needs() -> None:
    lines = list(recipe_lines(RECIPE))
    for one in (
        "  | It is down",
        "  | - 503 now",
        "  It starts once a day.",
        "  <host>",
        "  <board id>",
        "  host (required): The host",
        '  path: The path ("/")',
        "  note: A note",
    ):
        assert one in lines, one
    assert required_settings(RECIPE) == " --set host=…"


def test_a_preview_loses_its_marks_and_nothing_else() -> None:
    text = "| A | **B** |\n| --- | :-: |\n| 1 * 2 | c |\n\nplain ** text"
    assert list(plain_preview(text)) == ["A  B", "1 * 2  c", "", "plain ** text"]


def test_a_changed_value_is_shown_before_and_after() -> None:
    what = {
        "recipe": [
            {"place": "/goal", "change": "changed", "was": '"Old."', "becomes": '"New."'},
            {"place": "/plan", "change": "changed"},
        ],
        "yours": [],
        "new_dependencies": [],
        "orphaned_datasets": [],
    }
    found = {
        "has_upgrade": True,
        "installed": "1.0.0",
        "latest": "1.1.0",
        "asks_for": [],
        "change_summary": what,
    }
    lines = list(check_lines("Check", found))
    assert '  /goal: "Old." → "New."' in lines
    assert "  /plan changes" in lines
