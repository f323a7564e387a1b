"""What an automation may do beyond another version: each addition named, narrowing never."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import AutomationAuthority, find_additions, read_authority

LIMITS: Final = Limits()
DAILY: Final = "It may spend up to $1.00 a day if its steps cost anything."
BOARD: Final = "01900000-0000-7000-8000-00000000000b"


def cron(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "schedule", "config": {"cron": text, "timezone": "UTC"}, **more}


def on(kind: str, **config: Any) -> dict[str, Any]:
    return {"type": kind, "config": config}


def fetch(url: str, secret: str = "stripe_key", part: str = "headers") -> dict[str, Any]:
    held = f"{{{{ secrets.{secret} }}}}"
    config: dict[str, Any] = {"url": url, part: {"Authorization": held}}
    return {"step_id": "get", "action": "http_fetch", "config": config}


def step(**config: Any) -> dict[str, Any]:
    return {"step_id": "do", "action": "act", "config": config}


def ask(**more: Any) -> dict[str, Any]:
    """A step that asks a person."""
    config = {"title": "May I?", **more.pop("config", {})}
    return {"step_id": "ask", "action": "approval", "config": config, **more}


def send(name: str = "send", **more: Any) -> dict[str, Any]:
    return {"step_id": name, "action": "gmail.send", "config": {"to": "a"}, **more}


def script(wall: Any = None, **more: Any) -> dict[str, Any]:
    config = (
        {"source": "return 1"} if wall is None else {"source": "return 1", "wall_seconds": wall}
    )
    return {"step_id": "run", "action": "script", "config": config, **more}


def may(
    *grants: Grant,
    triggers: tuple[Any, ...] = (),
    plan: tuple[Any, ...] = (),
    pins: dict[str, str] | None = None,
    inputs: dict[str, Any] | None = None,
    **execution: Any,
) -> AutomationAuthority:
    shape = {"properties": {name: {"default": value} for name, value in (inputs or {}).items()}}
    document = {
        "triggers": list(triggers),
        "plan": list(plan),
        "execution": execution,
        "inputs": {"schema": shape},
    }
    return read_authority(document, grants, LIMITS, pins)


def call(**params: Any) -> Grant:
    return Grant("board.append", params)


def hosts(*names: str) -> Grant:
    return Grant("http_fetch", {"hosts": list(names)})


def missed(way: str, **more: Any) -> dict[str, Any]:
    return on("schedule", cron="@daily", timezone="UTC", misfire=way, **more)


GOES_ON: Final = {"on_decline": "continue"}
APPROVED: Final = "{{ steps.ask.approved }}"
STRIPE: Final = "https://api.stripe.com/v1/charges"
SIGNED: Final = on("webhook", signature={"secret": "hook_key"})

# Narrow, wide, and what is said on the way from the one to the other. The way back says nothing.
WIDER: Final[list[tuple[AutomationAuthority, AutomationAuthority, list[str]]]] = [
    # Grants.
    (may(), may(call()), ["It may now call board.append."]),
    (may(call()), may(call(), Grant("x.send")), ["It may now call x.send."]),
    (may(call(board_id="a")), may(call()), ["It may now call board.append."]),
    (
        may(call(board_id="a")),
        may(call(board_id=["a", "b"])),
        ["It may now call board.append with board_id among a, b."],
    ),
    (
        may(call(max_rows=5)),
        may(call(max_rows=50)),
        ["It may now call board.append with max_rows up to 50."],
    ),
    (
        may(call(board_id="a", max_rows=5)),
        may(call(board_id="a")),
        ["It may now call board.append with board_id a."],
    ),
    (may(), may(call(flag=True)), ["It may now call board.append with flag true."]),
    (may(), may(call(of={"a": 1})), ['It may now call board.append with of {"a":1}.']),
    (
        may(),
        may(call(to=[f"p{n}" for n in range(7)])),
        ["It may now call board.append with to among p0, p1, p2, p3, p4, p5, p6."],
    ),
    (
        may(),
        may(hosts(f"{'a.' * 100}example")),
        [f"It may now send requests to {'a.' * 100}example."],
    ),
    # Hosts, each by itself.
    (may(), may(hosts("api.example.com")), ["It may now send requests to api.example.com."]),
    (
        may(hosts("a.example")),
        may(hosts("a.example", "b.example")),
        ["It may now send requests to b.example."],
    ),
    (
        may(hosts("a.example")),
        may(hosts("a.example", "b.example", "c.example")),
        ["It may now send requests to b.example.", "It may now send requests to c.example."],
    ),
    (
        may(hosts("a.example:8443")),
        may(hosts("a.example")),
        ["It may now send requests to a.example."],
    ),
    (
        may(hosts("a.example")),
        may(hosts("a.example", "sub.a.example")),
        ["It may now send requests to sub.a.example."],
    ),
    (may(), may(hosts()), ["It may now send requests at no host yet."]),
    (
        may(),
        may(Grant("gmail.search", {"label": "x"}, lent=True)),
        ["It may now call gmail.search with label x with the accounts of its owner."],
    ),
    # Secrets, with their sites and the part of what is sent.
    (may(), may(plan=(fetch(STRIPE),)), ["It now uses the secret stripe_key at api.stripe.com."]),
    (
        may(plan=(fetch(STRIPE),)),
        may(plan=(fetch(STRIPE), fetch(STRIPE, "other_key"))),
        ["It now uses the secret other_key at api.stripe.com."],
    ),
    (
        may(plan=(fetch(STRIPE),)),
        may(plan=(fetch(STRIPE), fetch("https://evil.example/x"))),
        ["It now uses the secret stripe_key at evil.example."],
    ),
    (
        may(plan=(fetch(STRIPE),)),
        may(plan=(fetch(STRIPE), fetch("https://api.stripe.com:444/x"))),
        ["It now uses the secret stripe_key at api.stripe.com:444."],
    ),
    (
        may(plan=(fetch(STRIPE),)),
        may(plan=(fetch("{{ inputs.url }}"),)),
        ["It now uses the secret stripe_key in http_fetch, where the run chooses the destination."],
    ),
    (
        may(plan=(fetch(STRIPE),)),
        may(plan=(fetch(STRIPE), fetch(STRIPE, part="query"))),
        ["It now uses the secret stripe_key at api.stripe.com."],
    ),
    (
        may(triggers=(on("webhook"),)),
        may(triggers=(on("webhook"), SIGNED)),
        ["It now verifies its callers with the secret hook_key."],
    ),
    # Accounts that a step names.
    (may(), may(plan=(step(account="work"),)), ["It now uses the account work."]),
    (
        may(plan=(step(account_id="a"),)),
        may(plan=(step(account_id="a"), step(account_id="b"))),
        ["It now uses the account b."],
    ),
    (may(), may(plan=(step(steps=[step(connection="c")]),)), ["It now uses the account c."]),
    # Money, tokens and time.
    (
        may(cost_cap_daily_usd="1"),
        may(cost_cap_daily_usd="5"),
        ["It may now spend $5.00 a day instead of $1.00."],
    ),
    (may(), may(cost_cap_daily_usd=2.5), ["It may now spend $2.50 a day instead of $1.00."]),
    (
        may(budget_cap_usd="0.10"),
        may(budget_cap_usd="0.2"),
        ["It may now spend $0.20 in one run instead of $0.10."],
    ),
    (
        may(max_llm_tokens=1000),
        may(max_llm_tokens=200_000),
        ["It may now use 200,000 tokens in one run instead of 1,000."],
    ),
    (
        may(timeout_seconds=60),
        may(timeout_seconds=61),
        ["It may now run 61 seconds in one run instead of 60."],
    ),
    (
        may(timeout_seconds=60),
        may(),
        ["It may now run 600 seconds in one run instead of 60."],
    ),
    (
        may(cost_cap_daily_usd=1, budget_cap_usd="0.5"),
        may(cost_cap_daily_usd=2, budget_cap_usd="0.7"),
        [
            "It may now spend $2.00 a day instead of $1.00.",
            "It may now spend $0.70 in one run instead of $0.50.",
        ],
    ),
    # How often.
    (may(), may(triggers=(cron("0 9 * * *"),)), ["It now starts once a day."]),
    (
        may(triggers=(cron("0 9 * * *"),)),
        may(triggers=(cron("*/5 * * * *"),)),
        ["It now starts every 5 minutes (288 times a day) instead of once a day."],
    ),
    (
        may(triggers=(cron("0 9 * * 1-5"),)),
        may(triggers=(cron("0 9 * * *"),)),
        ["It now starts once a day instead of 5 times a week."],
    ),
    (
        may(triggers=(cron("0 9 * * 1"),)),
        may(triggers=(cron("0 9 * * 1,4"),)),
        ["It now starts 2 times a week instead of once a week."],
    ),
    (
        may(triggers=(cron("0 9 1 * *"),)),
        may(triggers=(cron("0 9 * * 1"),)),
        ["It now starts once a week instead of once a month."],
    ),
    (
        may(triggers=(cron("0 0 29 2 *"),)),
        may(triggers=(cron("@yearly"),)),
        ["It now starts once a year instead of less than once a year."],
    ),
    (
        may(triggers=(cron("0 9 * * *"),)),
        may(triggers=(cron("0 9 * * *"), cron("0 18 * * *"))),
        ["It now starts 2 times a day instead of once a day."],
    ),
    (
        may(triggers=(cron("0 9 * * *", enabled=False),)),
        may(triggers=(cron("0 9 * * *"),)),
        ["It now starts once a day."],
    ),
    (
        may(triggers=(cron("@daily"),)),
        may(triggers=(cron("@hourly"),)),
        ["It now starts every hour at minute 0 (24 times a day) instead of once a day."],
    ),
    (
        may(triggers=(cron("0 9 * * *"),)),
        may(triggers=(cron("not to be read"),)),
        ["It now starts 1,440 times a day instead of once a day."],
    ),
    # What else starts it.
    (
        may(),
        may(triggers=(on("webhook"),)),
        ["It now starts by a webhook, for everyone with the address."],
    ),
    (
        may(),
        may(triggers=(SIGNED,)),
        [
            "It now verifies its callers with the secret hook_key.",
            "It now starts by a webhook, for everyone who can sign requests.",
        ],
    ),
    (
        may(triggers=(SIGNED,)),
        may(triggers=(SIGNED, on("webhook"))),
        ["Its webhook requests no longer need a signature."],
    ),
    (
        may(triggers=(on("webhook", events=["push"]),)),
        may(triggers=(on("webhook", events=["push", "issues"]),)),
        ["It now starts with more events of its webhook."],
    ),
    (
        may(),
        may(triggers=(on("event", event_type="drive.file_added"),)),
        ["It now starts with all events of the type drive.file_added."],
    ),
    (
        may(triggers=(on("event", event_type="a.b", filters={"n": {"gte": 5}}),)),
        may(triggers=(on("event", event_type="a.b"),)),
        ["It now starts with all events of the type a.b."],
    ),
    (
        may(triggers=(on("event", event_type="a.b"),)),
        may(triggers=(on("event", event_type="a.b"), on("event", event_type="a.c"))),
        ["It now starts with all events of the type a.c."],
    ),
    (
        may(),
        may(triggers=(on("board_change", board_id=BOARD),)),
        [f"It now starts when the board {BOARD} changes."],
    ),
    (
        may(triggers=(on("board_change", board_id=BOARD, change=["rows_appended"]),)),
        may(triggers=(on("board_change", board_id=BOARD, change=["rows_appended", "x"]),)),
        [f"It now starts when the board {BOARD} changes, with conditions."],
    ),
    (
        may(triggers=(on("page_ingested", page_type="email"),)),
        may(triggers=(on("page_ingested"),)),
        ["It now starts when a page is written."],
    ),
    (may(), may(triggers=(on("moon"),)), ["It now starts by a trigger of the type moon."]),
    # What goes without a person, and who is asked.
    (
        may(write_policy="always_draft"),
        may(write_policy="auto_confirm_safe"),
        ["It may now send safe writes without approval."],
    ),
    (may(), may(write_policy="everything"), ["It may now write by everything."]),
    (may(), may(model="openai:big"), ["It now calls the model openai:big."]),
    (may(), may(plan=(step(model="m-2"),)), ["It now calls the model m-2."]),
    (
        may(model="m-1"),
        may(model="m-1", plan=(step(steps=[step(model="m-3")]),)),
        ["It now calls the model m-3."],
    ),
    # A model that the run decides on, and what it is as long as nobody says otherwise.
    (
        may(plan=(step(model="m-1"),), inputs={"m": "m-1"}),
        may(plan=(step(model="{{ inputs.m }}"),), inputs={"m": "m-1"}),
        ["It now calls any model that a run chooses."],
    ),
    # What multiplies the work.
    (
        may(),
        may(max_retries=10),
        ["It may now retry a failed step 10 times instead of 2."],
    ),
    (
        may(plan=(send(max_retries=0),)),
        may(plan=(send(max_retries=5),)),
        ["It may now retry the step send 5 times instead of 0."],
    ),
    (
        may(plan=(send(max_retries=0),)),
        may(plan=(send(),)),
        ["It may now retry the step send 2 times instead of 0."],
    ),
    (
        may(plan=(script(5),)),
        may(plan=(script(300),)),
        ["Its script may now run 300 seconds at a time instead of 5."],
    ),
    (
        may(plan=(script(5),)),
        may(plan=(script(),)),
        ["Its script may now run 60 seconds at a time instead of 5."],
    ),
    (
        may(plan=(script(5),)),
        may(plan=(script("{{ inputs.s }}"),)),
        ["Its script may now run 86400 seconds at a time instead of 5."],
    ),
    (may(), may(concurrency="allow_parallel"), ["Its runs now run in parallel."]),
    (
        may(concurrency="drop_if_running"),
        may(),
        ["Starts during a run now wait and are not dropped."],
    ),
    (
        may(),
        may(concurrency_key="{{ inputs.a }}"),
        ["Its runs now run in parallel unless they have the same {{ inputs.a }}."],
    ),
    (
        may(triggers=(missed("skip"),)),
        may(triggers=(missed("fire_all"),)),
        ["After downtime it now makes up for each start that it missed."],
    ),
    (
        may(triggers=(missed("skip"),)),
        may(triggers=(cron("@daily"),)),
        ["After downtime it now makes up for one start that it missed."],
    ),
    (
        may(triggers=(cron("@daily"),)),
        may(triggers=(cron("@daily"), missed("fire_all"))),
        [
            "It now starts 2 times a day instead of once a day.",
            "After downtime it now makes up for each start that it missed.",
        ],
    ),
    (
        may(triggers=(cron("@daily"),)),
        may(triggers=(missed("fire_once", catch_up_seconds=86_400),)),
        ["It now makes up for missed starts of the last 86,400 seconds instead of 3,600."],
    ),
    # A person who was asked, and is not any more or not in the same way.
    (
        may(plan=(ask(), send())),
        may(plan=(send(),)),
        ["It no longer asks a person at the step ask."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(send(), ask())),
        ["It now does send (gmail.send) without waiting for the answer at the step ask."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(send("sent"), ask(), send())),
        ["It now does sent (gmail.send) without waiting for the answer at the step ask."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(ask(), send()), on_failure=[send("anyway")]),
        ["It now does anyway (gmail.send) without waiting for the answer at the step ask."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(ask(when="{{ inputs.careful }}"), send())),
        ["It now asks a person at the step ask only under a different condition."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(ask(config={"default": {"ok": True}, "timeout_seconds": 60}), send())),
        ["Without an answer at the step ask it now continues automatically after 60 seconds."],
    ),
    (
        may(plan=(ask(config={"default": 1}), send())),
        may(plan=(ask(config={"default": 1, "timeout_seconds": 60}), send())),
        ["Without an answer at the step ask it now continues automatically after 60 seconds."],
    ),
    (
        may(plan=(ask(config={"roles": ["owner"]}), send())),
        may(plan=(ask(config={"roles": ["owner", "operator"]}), send())),
        ["More people may now answer at the step ask: owner, operator."],
    ),
    (
        may(plan=(ask(config={"roles": ["owner"]}), send())),
        may(plan=(ask(), send())),
        ["More people may now answer at the step ask: everyone who may decide here."],
    ),
    (
        may(plan=(ask(), send())),
        may(plan=(ask(config={"on_decline": "continue"}), send())),
        ["After a no at the step ask it now continues."],
    ),
    (
        may(plan=(ask(config=GOES_ON), send(when=APPROVED))),
        may(plan=(ask(config=GOES_ON), send())),
        ["It now does send (gmail.send) without waiting for the answer at the step ask."],
    ),
    # Several at once, in one order.
    (
        may(hosts("a.example"), triggers=(cron("0 9 * * *"),)),
        may(
            hosts("a.example", "api.stripe.com"),
            plan=(fetch(STRIPE),),
            cost_cap_daily_usd=5,
            triggers=(cron("*/5 * * * *"),),
            write_policy="auto_confirm_safe",
            model="m",
        ),
        [
            "It may now send requests to api.stripe.com.",
            "It now uses the secret stripe_key at api.stripe.com.",
            "It may now spend $5.00 a day instead of $1.00.",
            "It now starts every 5 minutes (288 times a day) instead of once a day.",
            "It may now send safe writes without approval.",
            "It now calls the model m.",
        ],
    ),
]

# Neither is wider than the other.
ALIKE: Final[list[tuple[AutomationAuthority, AutomationAuthority]]] = [
    (may(), may()),
    (may(call(to=["a", "b"])), may(call(to=["b", "a"]))),
    (may(hosts("a.example", "b.example")), may(hosts("b.example"), hosts("a.example"))),
    (may(triggers=(cron("0 9 * * *"),)), may(triggers=(cron("30 21 * * *"),))),
    (may(triggers=(cron("0 9,18 * * *"),)), may(triggers=(cron("0 9 * * *"), cron("0 18 * * *")))),
    (may(cost_cap_daily_usd="1.0"), may(cost_cap_daily_usd=1)),
    (may(plan=(fetch(STRIPE),)), may(plan=(fetch("https://api.stripe.com/v2/other"),))),
    (may(triggers=(on("webhook"),)), may(triggers=(on("webhook", input_mapping={"a": "$.b"}),))),
    (may(plan=(step(text="one"),)), may(plan=(step(text="two"),))),
    # Behind a question.
    (may(plan=(ask(), send())), may(plan=(ask(), send("b"), send()))),
    (may(plan=(ask(),)), may()),
    (may(plan=(ask(), send())), may(plan=(send("x", action="transform_data"), ask(), send()))),
    (may(plan=(send("first"), ask(), send())), may(plan=(send("first"), ask()))),
    (may(plan=(script(5),)), may(plan=(script(5, description="x"),))),
]

# Each says something that the other does not.
CROSSED: Final[list[tuple[AutomationAuthority, AutomationAuthority, str, str]]] = [
    (may(hosts("a.example")), may(hosts("b.example")), "to b.example", "to a.example"),
    (may(model="m-1"), may(model="m-2"), "model m-2", "model m-1"),
    (
        may(plan=(step(model="m-1"),)),
        may(plan=(step(),)),
        "the installation's default model",
        "model m-1",
    ),
    (may(plan=(step(),), model="m-1"), may(plan=(step(),)), "default model", "model m-1"),
    (
        may(plan=(step(model="{{ inputs.m }}"),), inputs={"m": "m-1"}),
        may(plan=(step(model="{{ inputs.m }}"),), inputs={"m": "m-2"}),
        "model m-2",
        "model m-1",
    ),
    (
        may(concurrency_key="{{ inputs.a }}"),
        may(concurrency_key="{{ inputs.b }}"),
        "inputs.b",
        "inputs.a",
    ),
    (may(call(to="a")), may(call(to="b")), "to b", "to a"),
    (may(pins={"gh.issue": "1"}), may(pins={"gh.issue": "2"}), "gh.issue", "gh.issue"),
    (may(cost_cap_daily_usd=2), may(budget_cap_usd=2), "in one run", "a day"),
    (
        may(triggers=(on("event", event_type="a.b", filters={"n": {"gte": 5}}),)),
        may(triggers=(on("event", event_type="a.b", filters={"n": {"gte": 4}}),)),
        "some events",
        "some events",
    ),
]


def says(before: AutomationAuthority | None, after: AutomationAuthority) -> list[str]:
    return [one.says for one in find_additions(before, after)]


@pytest.mark.parametrize(("narrow", "wide", "texts"), WIDER)
def test_what_is_wider_is_named_and_the_way_back_needs_nobody(
    narrow: AutomationAuthority, wide: AutomationAuthority, texts: list[str]
) -> None:
    assert says(narrow, wide) == texts
    assert says(wide, narrow) == []


def test_a_webhook_that_is_no_longer_signed_needs_consent() -> None:
    address = on("webhook", auth={"type": "secret_url"})
    assert says(may(triggers=(SIGNED,)), may(triggers=(address,))) == [
        "Its webhook requests no longer need a signature."
    ]
    assert says(may(), may(triggers=(address,))) == [
        "It now starts by a webhook, for everyone with the address."
    ]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_is_only_different_needs_nobody(
    one: AutomationAuthority, other: AutomationAuthority
) -> None:
    assert says(one, other) == says(other, one) == []


@pytest.mark.parametrize(("one", "other", "there", "back"), CROSSED)
def test_what_reaches_elsewhere_is_named_in_both_directions(
    one: AutomationAuthority, other: AutomationAuthority, there: str, back: str
) -> None:
    (forth,), (home,) = says(one, other), says(other, one)
    assert there in forth
    assert back in home


def test_where_nothing_was_agreed_to_all_of_it_is_said() -> None:
    whole = may(hosts("a.example"), triggers=(cron("0 9 * * *"),), plan=(fetch(STRIPE),))
    assert says(None, whole) == [
        "It may send requests to a.example.",
        "It uses the secret stripe_key at api.stripe.com.",
        DAILY,
        "It starts once a day.",
    ]
    assert says(None, may()) == [DAILY]
    assert says(None, may(max_llm_tokens=300_000)) == [
        DAILY,
        "It may use 300,000 tokens in one run.",
    ]


def test_each_addition_has_its_kind_and_its_place() -> None:
    wide = may(
        call(),
        plan=(fetch(STRIPE), step(account="work")),
        cost_cap_daily_usd=5,
        model="m",
        triggers=(cron("@daily"), on("webhook")),
        write_policy="auto_confirm_safe",
    )
    assert [(one.kind, one.pointer) for one in find_additions(may(), wide)] == [
        ("grant", "/grants"),
        ("secret", "/plan/0/config/headers/Authorization"),
        ("account", "/plan/1/config/account"),
        ("spend", "/execution/cost_cap_daily_usd"),
        ("start", "/triggers/0"),
        ("start", "/triggers/1"),
        ("write_policy", "/execution/write_policy"),
        ("model", "/execution/model"),
    ]


def test_values_of_strangers_hide_nothing_and_are_shown_whole() -> None:
    (output,) = says(may(), may(Grant("x", {"to": "a\u202e\n" + "b" * 500})))
    assert f"a\\u202e\\u000a{'b' * 500}." in output
    assert output.isprintable()


def test_the_table_is_long_enough() -> None:
    assert len(WIDER) + len(ALIKE) + len(CROSSED) >= 60
