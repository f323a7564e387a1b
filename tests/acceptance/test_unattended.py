"""From words to three messages that arrive unattended, with exactly one agreement.

The words become a proposal by rules, a person reads it, chooses how each write is approved and
saves it. Then three scheduled moments pass, and nobody is asked anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.commands import Mainspring, open_folder
from tests.acceptance.loopback_servers import mailbox
from tests.acceptance.server import Json, Started, started
from tests.acceptance.test_models import slack
from tests.acceptance.test_words_to_run import saved
from tests.kit.mail import MailServerDouble
from tests.kit.slack import TOKEN, SlackDouble

OWNER = "ada@example.com"
A_MOMENT_HAS_COME = """
    UPDATE triggers SET next_due_at = date_trunc('minute', now()) - $1 * interval '1 minute'
    WHERE next_due_at IS NOT NULL
"""
MOMENTS = 3


@pytest.fixture(scope="module")
def channel() -> Iterator[SlackDouble]:
    with slack() as double:
        yield double


@pytest.fixture(scope="module")
def post() -> MailServerDouble:
    return MailServerDouble()


@pytest.fixture(scope="module")
def server(channel: SlackDouble, post: MailServerDouble) -> Iterator[Started]:
    with mailbox(post) as port, open_folder() as folder:
        settings = {
            "egress_allow": f"{channel.pair},127.0.0.1:{port}",
            "slack_url": channel.url,
            "owner_mail": OWNER,
            "smtp_url": f"smtp://127.0.0.1:{port}",
        }
        with started(Mainspring(folder / "home"), settings) as made:
            made.post("/secrets", {"name": "slack_bot_token", "value": TOKEN}, 201)
            yield made


def proposed(server: Started, text: str) -> Json:
    given = {"text": text, "timezone": "Europe/Berlin", "by": "rules"}
    made: Json = server.post("/proposals", given, 201)
    assert (made["status"], made["made_by"]["by"]) == ("ready", "rules"), made["questions"]
    return made


def write_of(made: Json) -> Json:
    """The only outside write of a proposal, as its review shows it."""
    (write,) = made["review"]["impact"]["writes"]
    found: Json = write
    return found


def three_moments(server: Started, made_id: str, title: str) -> list[Json]:
    """The runs of three scheduled moments, each with a new page before it."""
    for number in range(1, MOMENTS + 1):
        page = {"type": "note", "title": f"{title} {number}", "body": "It is new."}
        server.post("/capabilities/create_page", page)
        server.sql(A_MOMENT_HAS_COME, MOMENTS + 1 - number)
        server.first_runs(made_id, number)
    return server.first_runs(made_id, MOMENTS)


def drafts(server: Started, **query: Any) -> list[Json]:
    return server.items("/drafts", **query)


def test_a_slack_digest_is_agreed_to_once_and_posted_three_times(
    server: Started, channel: SlackDouble
) -> None:
    made = proposed(server, "every morning at 9 post the new pages to #standup")
    write = write_of(made)
    assert (write["capability"], write["mode"]) == ("slack_post", "ask")
    assert "after approval" in made["review"]["summary"]

    edit = {"pointer": write["pointer"], "value": write["values"]["automatic"]}
    ready = server.post(f"/proposals/{made['proposal_id']}/refine", {"edits": [edit]})
    assert write_of(ready)["mode"] == "automatic"
    assert "to “#standup” on Slack without asking" in ready["review"]["summary"]
    made_id = saved(server, ready)
    server.post(f"/automations/{made_id}/activate")

    runs = three_moments(server, made_id, "News")
    assert [(run["status"], run["outcome"]) for run in runs] == [("succeeded", "effects")] * MOMENTS
    texts = [message["text"] for message in channel.messages]
    assert len(texts) == MOMENTS
    for number, text in enumerate(texts, 1):
        assert f"News {number}" in text
    assert drafts(server, status="pending") == []
    assert {one["answered_kind"] for one in drafts(server)} == {"step"}
    assert all(run["output"]["ts"] for run in runs)
    server.post(f"/automations/{made_id}/archive")


def test_mail_to_me_every_morning_is_agreed_to_once_and_arrives_three_times(
    server: Started, post: MailServerDouble
) -> None:
    made = proposed(server, "every morning at 7 list the new pages and mail it to me")
    write = write_of(made)
    assert (write["capability"], write["mode"]) == ("email.notify_owner", "automatic")
    assert "without asking" in made["review"]["summary"]
    before = len(drafts(server))
    made_id = saved(server, made)
    server.post(f"/automations/{made_id}/activate")

    runs = three_moments(server, made_id, "Letter")
    assert [(run["status"], run["outcome"]) for run in runs] == [("succeeded", "effects")] * MOMENTS
    mine = [one for one in post.messages if one["Subject"] == "New pages"]
    assert [one["To"] for one in mine] == [OWNER] * MOMENTS
    assert len(drafts(server)) == before
    server.post(f"/automations/{made_id}/archive")
