"""Pure parts of Slack, Discord and e-mail: texts, settings, names and searches."""

from __future__ import annotations

from mainspring.contracts.mime_text import read_mail
from mainspring.integrations.discord.sources import channels_of as discord_channels
from mainspring.integrations.email.letters import source_ref
from mainspring.integrations.email.sources import terms_of
from mainspring.integrations.slack.messages import as_number, item_of, newest_of, readable
from mainspring.integrations.slack.polls import channels_of, place_of, stamp_before


def test_a_text_of_slack_reads_as_in_the_channel_and_never_as_more() -> None:
    names = {"U0ADA": "Ada"}
    assert readable("<@U0ADA> <@U0NEW|new> <#C1|ops> <#C2>", names) == "@Ada @new #ops #C2"
    assert readable("<!channel> <!date^1^x|today>", names) == "@channel today"
    assert readable("<https://a.b|click> <https://c.d>", names) == (
        "click (https://a.b) https://c.d"
    )
    assert readable("a &lt;b&gt; &amp;lt; <", names) == "a <b> &lt; <"


def test_a_place_in_slack_is_ordered_as_a_number_and_survives_nonsense() -> None:
    assert as_number("999.1") < as_number("1000.000001") < as_number("1000.1")
    assert newest_of({"ts": "1000.1", "latest_reply": "1000.2"}) == "1000.2"
    assert newest_of({"ts": 7}) == newest_of("x") == ""
    assert stamp_before("100000.000200") == "13600.000200"
    assert place_of({"marks": {"C1": "yesterday", "C2": "1.1"}}).marks == {"C2": "1.1"}
    assert channels_of({"channels": "C1, #ops;C1 \n x"}) == ["C1", "#ops", "x"]
    assert channels_of({}) == channels_of({"channels": None}) == []
    assert discord_channels({"channels": "1100000000000000001,7,#general"}) == [
        "1100000000000000001"
    ]
    assert item_of("C1", {"ts": "9" * 12 + ".1"}, [], {}).source_ref.endswith(".1")


def test_words_of_a_search_stand_where_they_were_said_to() -> None:
    assert terms_of('from:ada subject:"next  week" invoice') == [
        ("from", "ada"),
        ("subject", "next week"),
        ("text", "invoice"),
    ]
    assert terms_of("https://x.example/a") == [("text", "https://x.example/a")]
    assert terms_of(None) == terms_of('""') == []
    assert len(terms_of("a " * 100)) == 10


def test_the_name_of_a_mail_is_what_it_says_and_not_only_what_it_claims() -> None:
    one = source_ref(read_mail(b"Message-ID: <a@b>\r\n\r\none"))
    two = source_ref(read_mail(b"Message-ID: <a@b>\r\n\r\ntwo"))
    assert one != two
    assert one == source_ref(read_mail(b"Received: later\r\nMessage-ID: <a@b>\r\n\r\none"))
    assert source_ref(read_mail(b"Message-ID: nothing\r\n\r\none")).count(":") == 1
