"""Stories of starters that sum up, score and remind, from boards and calendars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.kit.boards import values
from tests.kit.doubles.github import Repository
from tests.kit.starters import Installed, StarterBench

ME = "me@example.com"
# More than one page of a board holds.
OLD = 1_001


def _elsewhere() -> str:
    """A zone in which it is another day than in UTC."""
    return "Pacific/Kiritimati" if datetime.now(UTC).hour >= 11 else "Pacific/Pago_Pago"


def _day(run: dict[str, Any], zone: str) -> datetime:
    started: datetime = run["started_at"]
    return started.astimezone(ZoneInfo(zone))


async def _had(shop: StarterBench, made: Installed, board: str, key: str, **row: Any) -> None:
    """The board has had many rows that are nobody's business now."""
    await shop.append(made, board, *({key: f"old {n}", **row} for n in range(OLD)))


async def weekly_revenue_report(shop: StarterBench) -> None:
    made = await shop.install("weekly-revenue-report", currency="USD", timezone="Asia/Tokyo")
    sales = [
        ("2026-01-04", 900, "Plan"),
        ("2026-01-05", 1000.25, "Plan"),
        ("2026-01-07", 200, "Help"),
        ("2026-01-11", 50.5, "Help"),
        ("2026-01-12", 7000, "Plan"),
        ("2026-01-06", None, "Plan"),
    ]
    rows = [
        {"id": f"s{n}", "date": day, "amount": amount, "product": product}
        for n, (day, amount, product) in enumerate(sales)
    ]
    await shop.append(made, "revenue-board", *rows)
    # Monday at seven in Tokyo.
    monday = {"scheduled_for": "2026-01-11T22:00:00Z"}
    run = await shop.run(made, **monday)
    assert run["output"]["total"] == 1250.75
    line = "1250.75 USD from 3 sales, +39 % on the week before."
    (page,) = await shop.pages(made)
    assert page["title"] == "Revenue 2026-01-05 to 2026-01-11"
    assert page["body"].splitlines() == [
        f"**{line}**",
        "",
        "| Product | USD |",
        "| --- | --- |",
        "| Plan | 1000.25 |",
        "| Help | 250.5 |",
    ]
    assert await shop.notices(made) == [("info", "Revenue of the week from 2026-01-05", line)]

    await shop.run(made, **monday)
    assert await shop.pages(made) == [page]
    assert len(await shop.notices(made)) == 1


async def ci_failure_digest(shop: StarterBench) -> None:
    zone = _elsewhere()
    made = await shop.install("ci-failure-digest", timezone=zone)
    await _had(shop, made, "ci-board", "key", digest="2020-01-02")
    build = {"repository": "octo/hello", "build": 4711, "branch": "main", "author": "mona"}
    await shop.hooked(
        made,
        "ci",
        {**build, "job": "unit tests", "result": "failure", "url": "https://ci.example.com/4711"},
        {**build, "job": "unit tests", "result": "failure"},
        {**build, "job": "lint", "result": "success"},
        {"repository": "octo/hello", "build": 4712, "result": "FAILED"},
    )
    board = made.boards["ci-board"]
    found = await shop.owner.rows(board, offset=OLD)
    assert values(found, "key", "branch", "digest") == [
        ("octo/hello#4711/unit tests", "main", None),
        ("octo/hello#4712/build", "", None),
    ]

    day = f"{_day(await shop.fire(made), zone):%Y-%m-%d}"
    (page,) = await shop.pages(made)
    assert page["title"] == f"CI failures {day}"
    assert page["body"].splitlines() == [
        "- **octo/hello** main: unit tests, by mona (https://ci.example.com/4711)",
        "- **octo/hello**: build",
    ]
    (notice,) = await shop.notices(made)
    assert notice[:2] == ("warning", "2 failed builds since the last digest")
    assert values(await shop.owner.rows(board, offset=OLD), "digest") == [day, day]
    await shop.run(made)
    assert await shop.pages(made) == [page]
    assert await shop.notices(made) == [notice]


async def release_notes(shop: StarterBench) -> None:
    now = datetime.now(UTC).isoformat()
    repository = shop.github.repositories.setdefault("octo/hello", Repository())
    for number, title, merged in (
        (12, "Doors close by themselves", now),
        (13, "Given up", None),
        (11, "Long ago", "2024-01-01T00:00:00Z"),
    ):
        pull = shop.github.issue(
            "octo/hello",
            number,
            now,
            title=title,
            state="closed",
            merged_at=merged,
            draft=False,
            head={"ref": "x"},
            base={"ref": "main"},
        )
        repository.pulls.append(pull)
    made = await shop.install("release-notes", owner="octo", repository="hello")
    await shop.fire(made)
    (page,) = await shop.pages(made)
    assert page["title"].startswith("hello: week 20")
    assert page["body"].strip() == "- Doors close by themselves (#12, mona)"
    assert [title for _, title, _ in await shop.notices(made)] == [
        "Release notes of hello are ready"
    ]
    await shop.fire(made)
    assert await shop.pages(made) == [page]
    assert len(await shop.notices(made)) == 1


async def calendar_prep(shop: StarterBench) -> None:
    today = datetime.now(UTC).date()
    shop.calendar.calendar(ME, "Me", "UTC")
    # Tomorrow is where the run begins, even if midnight comes before it does.
    for ahead in range(4):
        day = today + timedelta(days=ahead)
        for clock, title, more in (
            ("09", "Review", {"location": "Room 4", "attendees": [{"email": "bo@example.com"}]}),
            ("08", "Breakfast", {}),
            ("10", "Given up", {"status": "cancelled"}),
        ):
            at = f"{day}T{clock}:{{}}:00Z"
            shop.calendar.put(
                ME,
                f"{day}-{clock}",
                summary=f"{title} {day}",
                start={"dateTime": at.format("00")},
                end={"dateTime": at.format("30")},
                **more,
            )
    made = await shop.install("calendar-prep", timezone="Asia/Kolkata")
    run = await shop.fire(made)
    day = _day(run, "Asia/Kolkata").date() + timedelta(days=1)
    (page,) = await shop.pages(made)
    assert page["title"] == f"Your day: {day}"
    assert [line for line in page["body"].splitlines() if line] == [
        f"## 13:30 to 14:00: Breakfast {day}",
        f"## 14:30 to 15:00: Review {day}",
        "Where: Room 4",
        "With: bo@example.com",
    ]
    assert await shop.notices(made) == [
        ("info", f"Your day {day} is prepared", f"13:30 Breakfast {day}\n14:30 Review {day}")
    ]
    await shop.run(made)
    assert await shop.pages(made) == [page]
    assert len(await shop.notices(made)) == 1


async def on_call_summary(shop: StarterBench) -> None:
    zone = _elsewhere()
    made = await shop.install("on-call-summary", timezone=zone)
    await _had(shop, made, "incident-board", "id", state="resolved", summary="2020-W01")
    await shop.append(
        made,
        "incident-board",
        {
            "id": "1",
            "opened": "2026-01-05",
            "title": "Payments were slow",
            "severity": "high",
            "state": "resolved",
            "owner": "Ada",
        },
        {"id": "2", "opened": "2026-01-06", "title": "Mail waits", "state": "open"},
    )
    week = f"{_day(await shop.fire(made), zone):%G-W%V}"
    (page,) = await shop.pages(made)
    assert page["title"] == f"On call: week {week}"
    assert [line for line in page["body"].splitlines() if line] == [
        "## Since the last summary",
        "- 2026-01-05 **Payments were slow** (high, resolved, Ada)",
        "- 2026-01-06 **Mail waits** (no severity, open)",
        "## Still open",
        "- **Mail waits**",
    ]
    (notice,) = await shop.notices(made)
    assert notice[:2] == ("warning", "On call: 2 new, 1 still open")
    found = await shop.owner.rows(made.boards["incident-board"], offset=OLD)
    assert values(found, "summary") == [week, week]
    await shop.run(made)
    assert await shop.pages(made) == [page]
    assert await shop.notices(made) == [notice]


async def kpi_scorer(shop: StarterBench) -> None:
    zone = _elsewhere()
    made = await shop.install("kpi-scorer", enough=90, timezone=zone)
    await _had(shop, made, "kpi-board", "kpi", target=10)
    await shop.append(
        made,
        "kpi-board",
        {"kpi": "New customers", "value": 25, "target": 20, "better": "higher"},
        {"kpi": "Open tickets", "value": 12, "target": 10, "better": "lower"},
        {"kpi": "Not measured yet", "target": 10, "better": "higher"},
    )
    week = f"{_day(await shop.fire(made), zone):%G-W%V}"
    scores = await shop.rows(made, "kpi-board", "scores")
    assert values(scores, "week", "kpi", "score") == [
        (week, "New customers", 100),
        (week, "Open tickets", 83),
    ]
    (page,) = await shop.pages(made)
    assert page["body"].splitlines()[2:] == [
        "| New customers | 25 | 20 | 100 |",
        "| Open tickets | 12 | 10 | 83 |",
    ]
    (notice,) = await shop.notices(made)
    assert (notice[0], notice[2]) == ("warning", "Open tickets: 12 of 10 (83)")
    await shop.run(made)
    assert await shop.rows(made, "kpi-board", "scores") == scores
    assert await shop.pages(made) == [page]
    assert await shop.notices(made) == [notice]


async def deadline_nudger(shop: StarterBench) -> None:
    # A task of the year 2999 is due within so many days, and one of the year 9000 is not.
    made = await shop.install("deadline-nudger", days_before=400_000, timezone="Asia/Tokyo")
    await _had(shop, made, "task-board", "key", due="2020-01-02", state="done")
    await shop.append(
        made,
        "task-board",
        {"key": "1", "task": "Send the offer", "owner": "Ada", "due": "2020-01-02"},
        {"key": "2", "task": "Renew the lease", "due": "9000-01-02", "remind_on": "2020-01-01"},
        {"key": "3", "task": "Paint the door", "due": "2999-01-02"},
        {"key": "4", "task": "Not yet", "due": "9000-01-02", "state": "open"},
        {"key": "5", "task": "Long done", "due": "2020-01-02", "state": "done"},
        {"key": "6", "task": "Some day"},
    )
    await shop.fire(made)
    result = [
        ("warning", "Late: Send the offer", "Due on 2020-01-02, Ada."),
        ("info", "Due: Paint the door", "Due on 2999-01-02."),
        ("info", "Due: Renew the lease", "Due on 9000-01-02."),
    ]
    assert await shop.notices(made) == result
    await shop.fire(made)
    assert await shop.notices(made) == result

    row = (await shop.owner.rows(made.boards["task-board"], offset=OLD))[0]
    later = {"row_id": row["row_id"], "due": "2020-02-02"}
    await shop.call("update_board_rows", board_id=made.boards["task-board"], rows=[later])
    await shop.fire(made)
    assert await shop.notices(made) == [
        *result,
        ("warning", "Late: Send the offer", "Due on 2020-02-02, Ada."),
    ]
