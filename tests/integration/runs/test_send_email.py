"""``send_email`` in whole runs, against a real mail server on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.definition.validate import validate
from tests.kit.bench import Bench, document, step
from tests.kit.mail import PASSWORD, USER, MailServerDouble, mail_server, read_letter
from tests.kit.outbound_bench import SENDS, everything, outside_bench

MAIL = {
    "to": ["ada@example.com", "gone@example.com"],
    "subject": "Report {{ inputs.week }}",
    "text": "All is well.",
    "html": "<p>All is well.</p>",
    "reply_to": "office@example.com",
}
INPUTS = {"schema": {"type": "object", "properties": {"week": {"type": "string"}}}}


def _plan(config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    expected = {"inputs": INPUTS, **more}
    return document(step("send", "send_email", config or MAIL, retry_backoff="none"), **expected)


def _url(port: int) -> str:
    return f"smtp://{USER}:{PASSWORD.replace('@', '%40')}@127.0.0.1:{port}"


async def _run(
    bench: Bench, post: MailServerDouble, plan: dict[str, Any], week: str = "7"
) -> dict[str, Any]:
    async with (
        mail_server(post, sign_in=True) as port,
        outside_bench(bench, free=True, smtp_url=_url(port), mail_from="m@example.com") as open_one,
    ):
        return await open_one.run({**plan, **SENDS}, inputs={"week": week})


async def test_a_run_sends_a_mail_and_tells_who_was_refused(bench: Bench) -> None:
    post = MailServerDouble(refusals={"gone@example.com": "550 5.1.1 No such user"})
    run = await _run(bench, post, _plan())

    assert run["status"] == "succeeded", run["error"]
    (mail,) = post.messages
    assert run["output"] == {
        "message_id": mail["Message-ID"],
        "accepted": ["ada@example.com"],
        "refused": [{"address": "gone@example.com", "reason": "550 5.1.1 No such user"}],
    }
    assert (mail["Subject"], mail["From"]) == ("Report 7", "m@example.com")
    assert mail["Reply-To"] == "office@example.com"
    assert (run["outcome"], run["effects"]) == ("effects", 1)
    assert PASSWORD not in await everything(bench)


async def test_a_second_attempt_carries_the_same_message_id(bench: Bench) -> None:
    post, other = MailServerDouble(at_data=["451 4.3.0 Try later"]), MailServerDouble()
    run = await _run(bench, post, _plan())
    await _run(bench, other, _plan(name="another"))

    assert [row["status"] for row in run["steps"]] == ["retrying", "succeeded"]
    first, second = (read_letter(data)["Message-ID"] for data in post.offered)
    assert first == second == run["output"]["message_id"]
    assert other.messages[0]["Message-ID"] != first


async def test_a_refusal_for_good_is_not_tried_again(bench: Bench) -> None:
    post = MailServerDouble(at_data=["554 5.7.1 This is spam"])
    run = await _run(bench, post, _plan())

    assert [row["status"] for row in run["steps"]] == ["failed"]
    assert run["error"]["code"] == "mail_refused"
    assert "554 5.7.1 This is spam" in run["error"]["detail"]


async def test_a_subject_of_two_lines_is_refused_at_its_position(bench: Bench) -> None:
    post = MailServerDouble()
    run = await _run(bench, post, _plan(), week="7\nBcc: eve@evil.example")

    assert (run["status"], run["error"]["code"]) == ("failed", "mail_invalid")
    assert [error["pointer"] for error in run["error"]["errors"]] == ["/subject"]
    assert post.envelopes == []


async def test_without_a_mail_server_the_run_says_what_to_set(bench: Bench) -> None:
    async with outside_bench(bench, free=True) as open_one:
        run = await open_one.run({**_plan(), **SENDS}, inputs={"week": "7"})

    assert run["error"]["code"] == "mail_not_set_up"
    assert "MAINSPRING_SMTP_URL" in run["error"]["suggestion"]
    assert [row["status"] for row in run["steps"]] == ["failed"]


@pytest.mark.parametrize("write_policy", ["always_draft", "auto_confirm_safe", None])
async def test_a_mail_is_held_under_every_policy_until_somebody_agrees(
    bench: Bench, write_policy: str | None
) -> None:
    post = MailServerDouble()
    more = {} if write_policy is None else {"execution": {"write_policy": write_policy}}
    async with (
        mail_server(post, sign_in=True) as port,
        outside_bench(bench, free=False, smtp_url=_url(port)) as open_one,
    ):
        run = await open_one.run(_plan(**more), inputs={"week": "7"})

    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting")
    drafts = await bench.application.database.fetch(
        "SELECT capability, arguments, preview FROM drafts"
    )
    assert [draft["capability"] for draft in drafts] == ["send_email"]
    assert drafts[0]["arguments"]["subject"] == "Report 7"
    assert drafts[0]["preview"] == (
        "Send to ada@example.com, gone@example.com “Report 7”: All is well. "
        "(answers go to office@example.com) (and as HTML: <p>All is well.</p>)"
    )
    assert post.envelopes == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"to": []}, "/plan/0/config/to"),
        ({"to": "ada@example.com"}, "/plan/0/config/to"),
        ({"to": ["Ada <ada@example.com>"]}, "/plan/0/config/to/0"),
        ({"to": ["a@example.com"] * 51}, "/plan/0/config/to"),
        ({"subject": ""}, "/plan/0/config/subject"),
        ({"subject": "x" * 999}, "/plan/0/config/subject"),
        ({"from": "x@example.com"}, "/plan/0/config/from"),
        ({"text": "{{ secrets.word }}"}, "/plan/0/config/text"),
    ],
)
async def test_a_mail_that_can_never_be_sent_is_not_saved(
    bench: Bench, change: dict[str, Any], pointer: str
) -> None:
    report = validate(
        _plan({**MAIL, **change}), bench.application.registry, bench.application.limits
    )
    assert pointer in {finding.pointer for finding in report.findings}
