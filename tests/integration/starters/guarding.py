"""Stories of starters that keep an eye on what should not be missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.kit.boards import values
from tests.kit.scripted_server import http_answer
from tests.kit.starters import StarterBench


async def subscription_renewals(shop: StarterBench) -> None:
    # What renews in the year 2999 is near enough for so many days, and the year 9000 is not.
    made = await shop.install("subscription-renewals", days_before=400_000)
    await shop.append(
        made,
        "subscription-board",
        {"service": "Mail", "cost": "120 EUR", "renews": "2999-02-01", "owner": "Ada"},
        {"service": "Paint", "renews": "2999-02-01", "state": "cancelled"},
        {"service": "Roof", "renews": "9000-01-01", "state": "active"},
        {"service": "Door", "renews": "2020-01-01"},
        {"service": "Whenever"},
    )
    await shop.fire(made)
    mail = ("warning", "Mail renews on 2999-02-01", "It costs 120 EUR. Ada looks after it.")
    assert await shop.notices(made) == [mail]
    await shop.fire(made)
    assert await shop.notices(made) == [mail]

    board = made.boards["subscription-board"]
    (row,) = [one for one in await shop.owner.rows(board) if one["service"] == "Mail"]
    later = {"row_id": row["row_id"], "renews": "2999-03-01"}
    await shop.call("update_board_rows", board_id=board, rows=[later])
    await shop.fire(made)
    marked = values(await shop.rows(made, "subscription-board"), "service", "told_for")
    assert ("Mail", "2999-03-01") in marked
    assert {("Paint", None), ("Roof", None), ("Door", None), ("Whenever", None)} <= {*marked}
    assert [title for _, title, _ in await shop.notices(made)] == [
        "Mail renews on 2999-02-01",
        "Mail renews on 2999-03-01",
    ]


async def changelog_watch(shop: StarterBench) -> None:
    made = await shop.install("changelog-watch")
    shop.github.release("octo/roof", 1, "2026-01-01T09:00:00Z")
    shop.github.release("octo/roof", 2, "2026-01-02T09:00:00Z")
    shop.github.release("octo/roof", 3, "2026-01-03T09:00:00Z", prerelease=True)
    await shop.append(
        made,
        "repository-board",
        {"owner": "octo", "repository": "roof"},
        {"owner": "octo", "repository": "nowhere"},
        {"owner": "octo"},
    )
    await shop.fire(made)
    first = await shop.pages(made)
    assert [one["title"] for one in first] == ["octo/roof Release 1", "octo/roof Release 2"]
    assert first[1]["body"].splitlines() == [
        "Release 2 (v2) was published on 2026-01-02 by mona.",
        "",
        "https://github.com/octo/roof/releases/tag/v2",
    ]
    news, lost = await shop.notices(made)
    lines = "octo/roof: Release 1 (v1)\nocto/roof: Release 2 (v2)\n"
    assert news == ("info", "New releases of what you follow", lines)
    assert lost[:2] == ("warning", "Some repositories could not be read")
    found = values(await shop.rows(made, "repository-board"), "repository", "latest", "published")
    assert found == [("roof", "v2", "2026-01-02"), ("nowhere", None, None), (None, None, None)]

    await shop.fire(made)
    assert await shop.pages(made) == first
    assert await shop.notices(made) == [news, lost]
    shop.github.release("octo/roof", 4, "2026-01-04T09:00:00Z")
    await shop.fire(made)
    assert [one["title"] for one in (await shop.pages(made))[2:]] == ["octo/roof Release 4"]
    assert (await shop.notices(made))[2:] == [
        ("info", "New releases of what you follow", "octo/roof: Release 4 (v4)\n")
    ]


async def website_change_watch(shop: StarterBench) -> None:
    terms = "<html><style>p {}</style><p>%s</p><script>stamp(%d)</script></html>"
    address = shop.web.put("/terms", (terms % ("Pay soon.", 1)).encode(), "text/html")
    made = await shop.install(
        "website-change-watch", name="Terms", host=shop.web.pair, path="/terms", scheme="http"
    )
    await shop.fire(made)
    shop.web.put("/terms", (terms % ("Pay soon.", 2)).encode(), "text/html")
    await shop.fire(made)
    assert await shop.notices(made) == [], "what a person does not see is no change"
    shop.web.put("/terms", (terms % ("Pay now, please.", 2)).encode(), "text/html")
    await shop.fire(made)
    changed = ("info", "Terms has changed", f"It has 3 words now, before 2. {address}")
    assert await shop.notices(made) == [changed]
    await shop.fire(made)
    del shop.web.documents["/terms"]
    await shop.fire(made)
    assert await shop.notices(made) == [changed]


async def data_backup_check(shop: StarterBench) -> None:
    made = await shop.install(
        "data-backup-check", name="Backup", host=shop.web.pair, scheme="http", hours=5
    )

    async def written(hours: float) -> None:
        at = format_datetime(datetime.now(UTC) - timedelta(hours=hours), usegmt=True)
        shop.web.script.append(http_answer(200, b"", f"Last-Modified: {at}"))
        await shop.fire(made)

    await written(30.5)
    await written(30.5)
    old = (
        "error",
        "Backup is not fresh",
        "It is 30 hours old. It should be at most 5 hours old.",
    )
    assert await shop.notices(made) == [old]
    assert shop.web.requests[-1].startswith(b"HEAD /latest ")
    await written(0.5)
    fresh = ("info", "Backup is fresh again", "It is 0 hours old.")
    assert await shop.notices(made) == [old, fresh]
    shop.web.script.append(http_answer(404, b""))
    await shop.fire(made)
    assert (await shop.notices(made))[2:] == [
        ("error", "Backup is not fresh", "It answered with status 404.")
    ]
    assert shop.web.script == []
