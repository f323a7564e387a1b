"""Pure parts of Slack, Discord and e-mail: texts, settings, names and searches."""

from __future__ import annotations

from mainspring.contracts.mail_parser import read_mail
from mainspring.integrations.discord.sources import read_channels as discord_channels
from mainspring.integrations.email.messages import build_source_ref
from mainspring.integrations.email.sources import parse_search_terms
from mainspring.integrations.slack.messages import (
    as_number,
    build_message_item,
    format_text,
    get_newest_ts,
)
from mainspring.integrations.slack.polls import parse_cursor, read_channels, subtract_day


def test_a_text_of_slack_reads_as_in_the_channel_and_never_as_more() -> None:
    names = {"U0ADA": "Ada"}
    assert format_text("<@U0ADA> <@U0NEW|new> <#C1|ops> <#C2>", names) == "@Ada @new #ops #C2"
    assert format_text("<!channel> <!date^1^x|today>", names) == "@channel today"
    assert format_text("<https://a.b|click> <https://c.d>", names) == (
        "click (https://a.b) https://c.d"
    )
    assert format_text("a &lt;b&gt; &amp;lt; <", names) == "a <b> &lt; <"


def test_a_place_in_slack_is_ordered_as_a_number_and_survives_nonsense() -> None:
    assert as_number("999.1") < as_number("1000.000001") < as_number("1000.1")
    assert get_newest_ts({"ts": "1000.1", "latest_reply": "1000.2"}) == "1000.2"
    assert get_newest_ts({"ts": 7}) == get_newest_ts("x") == ""
    assert subtract_day("100000.000200") == "13600.000200"
    assert parse_cursor({"marks": {"C1": "yesterday", "C2": "1.1"}}).marks == {"C2": "1.1"}
    assert read_channels({"channels": "C1, #ops;C1 \n x"}) == ["C1", "#ops", "x"]
    assert read_channels({}) == read_channels({"channels": None}) == []
    assert discord_channels({"channels": "1100000000000000001,7,#general"}) == [
        "1100000000000000001"
    ]
    assert build_message_item("C1", {"ts": "9" * 12 + ".1"}, [], {}).source_ref.endswith(".1")


def test_search_words_are_in_the_documented_places() -> None:
    assert parse_search_terms('from:ada subject:"next  week" invoice') == [
        ("from", "ada"),
        ("subject", "next week"),
        ("text", "invoice"),
    ]
    assert parse_search_terms("https://x.example/a") == [("text", "https://x.example/a")]
    assert parse_search_terms(None) == parse_search_terms('""') == []
    assert len(parse_search_terms("a " * 100)) == 10


def test_the_name_of_a_mail_is_what_it_says_and_not_only_what_it_claims() -> None:
    one = build_source_ref(read_mail(b"Message-ID: <a@b>\r\n\r\none"))
    two = build_source_ref(read_mail(b"Message-ID: <a@b>\r\n\r\ntwo"))
    assert one != two
    assert one == build_source_ref(read_mail(b"Received: later\r\nMessage-ID: <a@b>\r\n\r\none"))
    assert build_source_ref(read_mail(b"Message-ID: nothing\r\n\r\none")).count(":") == 1
