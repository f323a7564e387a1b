"""Stories of starters that put what came in on one page or into one message."""

from __future__ import annotations

from tests.kit.bench import document, step
from tests.kit.doubles.gmail import leaf
from tests.kit.starters import StarterBench

FORECAST = (
    "/v1/forecast?latitude=52.52&longitude=13.41&daily=temperature_2m_min%2Ctemperature_2m_max"
    "%2Cprecipitation_sum%2Cwind_speed_10m_max&forecast_days=1&timezone=UTC"
)


async def standup_collector(shop: StarterBench) -> None:
    made = await shop.install("standup-collector", page_type="daily")
    for name, text in (("Ada", "Today the windows."), ("Noah", "Waiting for the paint.")):
        await shop.call(
            "create_page", type="daily", title=name, slug=f"d-{name}".lower(), body=text
        )
    await shop.call("create_page", type="note", title="Not a stand-up", body="Something else.")
    await shop.run(made)
    (page,) = await shop.pages(made)
    assert page["title"].startswith("Stand-up 20")
    assert [line for line in page["body"].splitlines() if line] == [
        "## Ada",
        "Today the windows.",
        "## Noah",
        "Waiting for the paint.",
    ]
    assert [message for _, _, message in await shop.notices(made)] == ["Ada\nNoah\n"]

    await shop.run(made)
    assert await shop.pages(made) == [page]
    await shop.call("create_page", type="daily", title="Noah", slug="d-noah", body="It came.")
    await shop.run(made)
    assert [one["body"].strip() for one in (await shop.pages(made))[1:]] == ["## Noah\nIt came."]
    assert len(await shop.notices(made)) == 2


async def mail_digest(shop: StarterBench) -> None:
    made = await shop.install("mail-digest", search="newer_than:2d")
    for own, sender, labels in (
        ("d1", "Noah <noah@a.example>", ("INBOX", "UNREAD")),
        ("d2", "News <news@b.example>", ("INBOX",)),
        ("d3", "Ada <ada@a.example>", ("INBOX", "UNREAD")),
    ):
        shop.gmail.put(
            own,
            f"t-{own}",
            leaf("text/plain", b"Hello."),
            labels=labels,
            From=sender,
            To="me@example.com",
            Subject=f"Mail {own}",
        )
    await shop.fire(made)
    (page,) = await shop.pages(made)
    assert page["title"].startswith("Unread mail 20")
    lines = [one for one in page["body"].splitlines() if "Mail d" in one]
    assert sorted(lines) == [
        "- **Mail d1** from Noah <noah@a.example>",
        "- **Mail d3** from Ada <ada@a.example>",
    ]
    assert len(await shop.notices(made)) == 1
    await shop.run(made)
    assert await shop.pages(made) == [page]
    assert len(await shop.notices(made)) == 1


async def weather_briefing(shop: StarterBench) -> None:
    made = await shop.install(
        "weather-briefing",
        place="Berlin",
        latitude=52.52,
        longitude=13.41,
        rain=2,
        host=shop.web.pair,
        scheme="http",
    )

    def weather(day: str, rain: float) -> None:
        daily = {
            "time": [day],
            "temperature_2m_min": [3.1],
            "temperature_2m_max": [9],
            "precipitation_sum": [rain],
            "wind_speed_10m_max": [31.5],
        }
        shop.web.put_json(FORECAST, {"latitude": 52.52, "daily": daily})

    weather("2026-01-05", 2.5)
    await shop.fire(made)
    wet = (
        "warning",
        "Berlin, 2026-01-05: 3.1 to 9 °C",
        "Rain: 2.5 mm. Wind: up to 31.5 km/h.",
    )
    assert await shop.notices(made) == [wet]
    await shop.run(made)
    assert await shop.notices(made) == [wet]
    weather("2026-01-06", 0)
    await shop.fire(made)
    dry = ("info", "Berlin, 2026-01-06: 3.1 to 9 °C", "Rain: 0 mm. Wind: up to 31.5 km/h.")
    assert await shop.notices(made) == [wet, dry]


async def weekly_review(shop: StarterBench) -> None:
    made = await shop.install("weekly-review")
    await shop.append(
        made,
        "task-board",
        {"key": "w1", "task": "Oil the hinges", "owner": "Ada", "state": "done"},
        {"key": "w2", "task": "Paint the wall", "due": "2020-01-02", "state": "open"},
        {"key": "w3", "task": "Some day", "due": "9000-01-02"},
    )
    await shop.call("create_page", type="note", title="About hinges", body="They want oil.")
    broken = document(step("read", "transform_data", {"output": "{{ trigger.x }}"}), name="Broken")
    failed = await shop.bench.until((await shop.bench.dispatch(broken)).run_id)
    assert failed["status"] == "failed"
    await shop.run_for_event(made)
    assert await shop.pages(made) == []

    await shop.fire(made)
    (page,) = await shop.pages(made)
    assert page["title"].startswith("Week 20")
    parts = {one.partition("\n")[0]: one for one in page["body"].split("## ") if one}
    assert "- Oil the hinges (Ada)\n" in parts["Done"]
    assert "- Paint the wall, due on 2020-01-02\n" in parts["Late"]
    assert "- About hinges (note)\n" in parts["What came in"]
    assert parts["What failed"].startswith("What failed\n- Broken: ")
    assert parts["What failed"].count("\n- ") == 1
    assert "Some day" not in page["body"]
    assert len(await shop.notices(made)) == 1
    await shop.fire(made)
    assert await shop.pages(made) == [page]
    assert len(await shop.notices(made)) == 1
