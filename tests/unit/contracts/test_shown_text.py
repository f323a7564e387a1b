"""What a person reads who decides: nothing of it hidden, and nothing cut without a mark."""

from __future__ import annotations

import pytest

from mainspring.contracts.display_text import escape_invisible, format_first_line, format_lines
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.slack.capabilities import has_no_mentions
from mainspring.integrations.slack.capabilities import preview as slack_preview
from mainspring.integrations.telegram.capabilities import preview as telegram_preview

PADDED = "All is well." + " \n" * 900 + "Pay mallory"


def test_blanks_push_nothing_away_and_a_cut_is_marked() -> None:
    for line in (
        format_first_line(PADDED),
        format_one_line(PADDED),
        telegram_preview({"text": PADDED}),
        slack_preview({"channel": "C1", "text": PADDED}),
    ):
        assert line.endswith("All is well. Pay mallory")
    for cut in (
        format_first_line("x" * 201),
        format_one_line("x" * 301),
        format_one_line(" " * 2_000 + "x" * 301),
    ):
        assert cut.endswith("x…")
    assert format_lines(f"a\r\nb{PADDED}").splitlines() == ["a", "bAll is well.", "", "Pay mallory"]


@pytest.mark.parametrize("unseen", ["\u202e", "\u200b", "\u2066", "\u3164", "\U000e0041", "\x1b"])
def test_what_cannot_be_seen_is_spelled_out_everywhere(unseen: str) -> None:
    spelled = f"a\\u{ord(unseen):04x}b"
    text = f"a{unseen}b"
    assert escape_invisible(text) == format_first_line(text) == format_lines(text) == spelled
    assert telegram_preview({"text": text}).endswith(spelled)
    assert slack_preview({"channel": text, "text": text}).count(spelled) == 2


def test_a_joiner_joins_emoji_and_hides_in_no_plain_word() -> None:
    assert escape_invisible("👨\u200d👩") == "👨\u200d👩"
    assert escape_invisible("exa\u200dmple") == "exa\\u200dmple"


@pytest.mark.parametrize("text", ["<!channel> hi", "hi <@U0123>", "<#C0123>", "<!subteam^S1>"])
def test_a_text_that_calls_somebody_is_not_only_words(text: str) -> None:
    assert not has_no_mentions({"channel": "C1", "text": text})
    assert has_no_mentions({"channel": "C1", "text": "1 < 2 & <https://example.com|a link>"})
