"""Which rows count for a budget: those of one workspace, one run, one day, and none twice."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import BudgetExceeded, InternalError
from mainspring.contracts.ids import generate_id
from mainspring.gate import budget_reservations
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import ENDLESS, RunBudget, StepBudget
from mainspring.store.database import Connection, Database
from mainspring.store.shield import run_to_completion
from tests.kit.run_rows import add_automation, add_run
from tests.kit.tenants import add_workspace

HERE, THERE = generate_id(), generate_id()
HOUR = timedelta(hours=1)
CENT = Decimal("0.01")


@dataclass
class Ledger:
    """Rows of one transaction, in which the day does not end."""

    database: Database
    tx: Connection
    # Two automations of this workspace and one of another, each with a run; the first has two.
    automations: tuple[UUID, UUID, UUID]
    runs: tuple[UUID, UUID, UUID, UUID]

    async def reserve(self, usd: int, spent: int | None = None, **columns: Any) -> None:
        """A reservation of the first run, with whatever differs."""
        row = {
            "workspace_id": HERE,
            "id": generate_id(),
            "automation_id": self.automations[0],
            "run_id": self.runs[0],
            "step": "a",
            "usd": Decimal(usd),
            "spent": None if spent is None else Decimal(spent),
            "tokens": 0,
            **columns,
        }
        days, expires = row.pop("days", 0), row.pop("expires", HOUR)
        values = [*row.values(), days, expires]
        places = [f"${number}" for number in range(1, len(row) + 1)]
        places.append(f"(now() AT TIME ZONE 'UTC')::date - ${len(row) + 1}::int4")
        places.append(f"now() + ${len(row) + 2}::interval")
        await self.tx.execute(
            f"INSERT INTO reservations ({', '.join(row)}, day, expires_at) "
            f"VALUES ({', '.join(places)})",
            *values,
        )

    async def book(self, usd: int, automation: UUID, space: UUID = HERE, days: int = 0) -> None:
        await self.tx.execute(
            "INSERT INTO spend (workspace_id, automation_id, day, usd) "
            "VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date - $3::int4, $4)",
            space,
            automation,
            days,
            Decimal(usd),
        )

    async def use(self, run: UUID, space: UUID = HERE, **columns: Any) -> None:
        """A use of a model."""
        row = {
            "workspace_id": space,
            "id": generate_id(),
            "run_id": run,
            "step": "a",
            "caller": "x",
            "model": "m",
            "input_tokens": 0,
            "output_tokens": 0,
            "reported": True,
            **columns,
        }
        places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await self.tx.execute(
            f"INSERT INTO llm_usage ({', '.join(row)}) VALUES ({places})", *row.values()
        )

    async def cap(self, usd: int | None, space: UUID = HERE) -> None:
        await self.tx.execute(
            "UPDATE workspaces SET cost_cap_daily_usd = $2 WHERE workspace_id = $1",
            space,
            None if usd is None else Decimal(usd),
        )

    def ask(self, *, in_run: bool = True, **budget: Any) -> CapabilityCall:
        run = RunRef(self.runs[0], self.automations[0], "a") if in_run else None
        given = {"cap": ENDLESS, **budget}
        actor = Actor(HERE, "run" if in_run else "member", generate_id())
        return CapabilityCall("x.y", {}, actor, run, 1, RunPolicy(()), RunBudget(**given))

    async def promise(
        self, ask: CapabilityCall, usd: Decimal = CENT, **rest: Any
    ) -> budget_reservations.BudgetReservation:
        reservation = budget_reservations.build_reservation(ask, generate_id(), usd)
        await budget_reservations.reserve_budget(self.tx, reservation, ask, HOUR, **rest)
        return reservation

    async def refused(self, ask: CapabilityCall, usd: Decimal = CENT) -> tuple[str, str]:
        """The code of a refusal, and what it says was spent or promised before."""
        with pytest.raises(BudgetExceeded) as refusal:
            await self.promise(ask, usd)
        used = refusal.value.detail.split("$")[2].split()[0].replace(",", "")
        return refusal.value.code, f"{Decimal(used).normalize():f}"

    async def stored(self) -> list[tuple[Decimal, Decimal | None]]:
        """What was promised and spent, of all reservations."""
        rows = await self.tx.fetch("SELECT usd, spent FROM reservations ORDER BY usd")
        return [(row["usd"], row["spent"]) for row in rows]


@pytest_asyncio.fixture
async def ledger(database: Database) -> AsyncIterator[Ledger]:
    for space in (HERE, THERE):
        await add_workspace(database, space, "one of two")
    mine, other = [await add_automation(database, HERE) for _ in range(2)]
    theirs = await add_automation(database, THERE)
    runs = (
        await add_run(database, HERE, mine),
        await add_run(database, HERE, mine),
        await add_run(database, HERE, other),
        await add_run(database, THERE, theirs),
    )
    async with database.transaction() as tx:
        yield Ledger(database, tx, (mine, other, theirs), runs)


@pytest_asyncio.fixture
async def full(ledger: Ledger) -> Ledger:
    """Each row has a digit of its own, so that a sum says which rows it is made of."""
    mine, other, theirs = ledger.automations
    await ledger.reserve(1)
    await ledger.reserve(9, 20)
    await ledger.reserve(300, expires=-HOUR)
    await ledger.reserve(4_000, expires=-HOUR, tokens=5)
    await ledger.reserve(50_000, run_id=ledger.runs[1])
    await ledger.reserve(9, 600_000, run_id=ledger.runs[1])
    await ledger.reserve(7_000_000, automation_id=other, run_id=ledger.runs[2])
    await ledger.reserve(80_000_000, automation_id=None, run_id=None)
    await ledger.reserve(9, 900_000_000, automation_id=None, run_id=None, expires=-HOUR)
    await ledger.reserve(10**9, days=1)
    await ledger.reserve(9, 2 * 10**10, automation_id=None, run_id=None, days=1)
    await ledger.reserve(3 * 10**11, workspace_id=THERE)
    await ledger.reserve(9, 4 * 10**12, workspace_id=THERE)
    await ledger.book(5 * 10**13, mine)
    await ledger.book(6 * 10**14, other)
    await ledger.book(7 * 10**15, mine, days=1)
    await ledger.book(8 * 10**16, theirs, THERE)
    return ledger


async def test_a_run_counts_what_it_spent_and_what_its_calls_hold(full: Ledger) -> None:
    # What it was promised yesterday still holds.
    assert await full.refused(full.ask(cap=Decimal(0))) == ("run_budget", "1000004021")
    # Its own budget knows of older calls.
    assert await full.refused(full.ask(cap=Decimal(0), spent=Decimal(30))) == (
        "run_budget",
        "1000004031",
    )


async def test_a_day_counts_what_an_automation_spent_and_what_its_calls_hold(full: Ledger) -> None:
    found = await full.refused(full.ask(day_cap=Decimal(0)))
    assert found == ("day_budget", "50000000054001")


async def test_a_workspace_counts_every_automation_and_what_people_call_themselves(
    full: Ledger,
) -> None:
    await full.cap(0)
    await full.cap(10**18, THERE)
    expected = ("workspace_budget", "650000987054001")
    assert await full.refused(full.ask()) == expected
    assert await full.refused(full.ask(in_run=False)) == expected
    # Without a cap of its own a workspace has none, whatever others have.
    await full.cap(None)
    await full.cap(0, THERE)
    await full.promise(full.ask())
    await full.promise(full.ask(in_run=False, cap=Decimal(0), day_cap=Decimal(0)))


async def test_a_step_counts_its_nested_steps(full: Ledger) -> None:
    await full.reserve(2_000, step="inner")
    await full.reserve(9, 10_000, step="inner")
    await full.reserve(10**20, step="other")
    await full.reserve(10**21, step="a", run_id=full.runs[1])

    def bounds(spent: int) -> list[StepBudget]:
        wide = StepBudget("wide", ENDLESS, ("a", "inner"))
        return [wide, StepBudget("a", Decimal(0), ("a", "inner"), Decimal(spent))]

    assert await full.refused(full.ask(bounds=bounds(0))) == ("step_budget", "1000016021")
    assert await full.refused(full.ask(bounds=bounds(10_021))) == ("step_budget", "1000016022")


async def test_the_last_cent_of_every_cap_can_be_spent(ledger: Ledger) -> None:
    await ledger.cap(5)
    caps: dict[str, Any] = {"cap": Decimal(5), "day_cap": Decimal(5)}
    bounds = [StepBudget("a", Decimal(5), ("a",))]
    await ledger.promise(ledger.ask(**caps, bounds=bounds), Decimal(2))
    await ledger.promise(ledger.ask(**caps, bounds=bounds), Decimal(3))
    assert await ledger.stored() == [(Decimal(2), None), (Decimal(3), None)]
    assert await ledger.refused(ledger.ask(**caps, bounds=bounds)) == ("run_budget", "5")


async def test_what_a_call_cost_is_booked_once_and_the_rest_given_back(ledger: Ledger) -> None:
    ask = ledger.ask()
    reservation = await ledger.promise(ask, Decimal(5))
    assert await budget_reservations.settle_reservation(
        ledger.tx, reservation, Decimal(2)
    ) == Decimal(2)
    assert await budget_reservations.settle_reservation(ledger.tx, reservation, Decimal(3)) is None
    assert await ledger.stored() == [(Decimal(5), Decimal(2))]
    second = await ledger.promise(ask, Decimal(6))
    # A call may come to less than a dollar, and to more than it was promised.
    assert await budget_reservations.settle_reservation(ledger.tx, second, Decimal(1)) == Decimal(3)
    third = await ledger.promise(ask, Decimal(7))
    assert await budget_reservations.settle_reservation(ledger.tx, third, Decimal(9)) == Decimal(12)
    assert await ledger.refused(ledger.ask(day_cap=Decimal(0))) == ("day_budget", "12")


async def test_what_a_person_calls_is_booked_without_an_automation(ledger: Ledger) -> None:
    ask = ledger.ask(in_run=False)
    reservation = await ledger.promise(ask, Decimal(5))
    assert await budget_reservations.settle_reservation(ledger.tx, reservation, Decimal(2)) is None
    assert await ledger.stored() == [(Decimal(5), Decimal(2))]
    assert await ledger.tx.fetchval("SELECT count(*) FROM spend") == 0


async def test_a_call_that_cost_nothing_gives_back_its_own_promise_alone(ledger: Ledger) -> None:
    ask = ledger.ask()
    free = await ledger.promise(ask, Decimal(1))
    paid = await ledger.promise(ask, Decimal(2))
    await ledger.promise(ask, Decimal(3))
    await ledger.reserve(4, workspace_id=THERE, id=free.id)
    await budget_reservations.settle_reservation(ledger.tx, paid, Decimal(2))
    assert await budget_reservations.settle_reservation(ledger.tx, free, Decimal(0)) is None
    # What was booked stays booked.
    assert await budget_reservations.settle_reservation(ledger.tx, paid, Decimal(0)) is None
    rest = [(Decimal(2), Decimal(2)), (Decimal(3), None), (Decimal(4), None)]
    assert await ledger.stored() == rest


async def test_a_budget_reads_the_spending_of_the_day_and_the_workspace(full: Ledger) -> None:
    await full.cap(7)
    await full.cap(8, THERE)
    ask = full.ask(in_run=True, day_spent=Decimal(1))
    reservation = budget_reservations.build_reservation(ask, generate_id(), CENT)
    await budget_reservations.settle_run_budget(full.tx, ask.budget, reservation, Decimal(2))
    assert ask.budget.day_spent == Decimal(50_000_000_000_002)
    assert ask.budget.space_cap == 7
    assert ask.budget.space_spent == Decimal(650_000_900_000_002)

    late = full.ask(day_spent=Decimal(10**17))
    await budget_reservations.settle_run_budget(
        full.tx, late.budget, budget_reservations.build_reservation(late, generate_id(), CENT), CENT
    )
    assert late.budget.day_spent == 10**17

    free, own = full.ask(), full.ask(in_run=False)
    await budget_reservations.settle_run_budget(
        full.tx,
        free.budget,
        budget_reservations.build_reservation(free, generate_id(), CENT),
        Decimal(0),
    )
    await budget_reservations.settle_run_budget(
        full.tx, own.budget, budget_reservations.build_reservation(own, generate_id(), CENT), CENT
    )
    assert free.budget.space_cap == own.budget.space_cap == ENDLESS

    await full.cap(None)
    budget = RunBudget(ENDLESS)
    await budget_reservations.refresh_workspace_budget(full.tx, budget, HERE)
    assert (budget.space_cap, budget.space_spent) == (ENDLESS, Decimal(0))


async def test_what_a_step_has_spent_is_known_from_promises_and_from_records(
    full: Ledger,
) -> None:
    run, space = full.runs[0], HERE
    bound = StepBudget("a", Decimal(1), ("a", "inner"))
    await full.reserve(9, 3_000, step="inner")
    await full.reserve(9, 10**20, step="other")
    assert await budget_reservations.read_step_spending(full.tx, space, run, bound) == 3_020

    async def call(usd: int, step: str, run: UUID, space: UUID = HERE) -> None:
        await full.tx.execute(
            "INSERT INTO calls (workspace_id, run_id, ms, attempt, call, step, capability, "
            "outcome, cost_usd, arguments_hash) VALUES ($1, $2, 1, 1, 1, $3, 'x', 'ok', $4, '')",
            space,
            run,
            step,
            Decimal(usd),
        )

    await call(4_000, "a", run)
    await call(50_000, "inner", run)
    await call(10**20, "other", run)
    await call(10**21, "a", full.runs[1])
    await call(10**22, "a", full.runs[3], THERE)
    await full.use(run, cost_usd=Decimal(600_000))
    await full.use(run, cost_usd=Decimal(7_000_000), step="inner")
    await full.use(run, cost_usd=Decimal(10**20), step="other")
    await full.use(run, cost_usd=Decimal(10**21), reported=False)
    await full.use(full.runs[1], cost_usd=Decimal(10**22))
    await full.use(run, THERE, cost_usd=Decimal(10**23))
    assert await budget_reservations.read_step_spending(full.tx, space, run, bound) == 7_654_000


async def _with_tokens(ledger: Ledger) -> None:
    """A run that has used 30 tokens and holds 4."""
    run = ledger.runs[0]
    await ledger.use(run, input_tokens=10, output_tokens=20)
    await ledger.use(ledger.runs[1], input_tokens=1_000)
    await ledger.use(run, THERE, input_tokens=2_000)
    await ledger.reserve(1, tokens=4, expires=-HOUR)
    await ledger.reserve(1, 1, tokens=5_000)
    await ledger.reserve(1, tokens=6_000, run_id=ledger.runs[1])
    await ledger.reserve(1, tokens=7_000, workspace_id=THERE)


async def test_tokens_of_one_run_are_counted(ledger: Ledger) -> None:
    await _with_tokens(ledger)
    assert await budget_reservations.read_tokens_used(ledger.tx, HERE, ledger.runs[0]) == (30, 4)
    assert await budget_reservations.read_tokens_used(ledger.tx, HERE, ledger.runs[2]) == (0, 0)


async def test_a_model_may_write_up_to_the_remaining_limit(ledger: Ledger) -> None:
    await _with_tokens(ledger)

    async def room(cap: int | None, writes: int = 10, **budget: Any) -> int:
        ask = ledger.ask(token_cap=cap, **budget)
        return await budget_reservations.find_available_tokens(ledger.tx, ask, 6, writes)

    assert await room(50) == 10
    assert await room(50, 9) == 9
    assert await room(49) == 9
    assert await room(41) == 1
    with pytest.raises(BudgetExceeded):
        await room(40)
    # The budget of the run may know of more than the records do, and learns from them.
    assert await room(50, tokens=33) == 7
    ask = ledger.ask(token_cap=50)
    await budget_reservations.find_available_tokens(ledger.tx, ask, 6, 10)
    assert ask.budget.tokens == 30
    assert await room(None) == 10
    free = ledger.ask(in_run=False, token_cap=1)
    assert await budget_reservations.find_available_tokens(ledger.tx, free, 6, 10) == 10


@pytest.mark.parametrize("what", ["tokens", "money"])
async def test_a_workspace_is_locked_while_its_usage_is_measured(ledger: Ledger, what: str) -> None:
    ask = ledger.ask(token_cap=50)
    if what == "tokens":
        await budget_reservations.find_available_tokens(ledger.tx, ask, 6, 10)
    else:
        await ledger.promise(ask)
    query = "SELECT 1 FROM workspaces WHERE workspace_id = $1 FOR NO KEY UPDATE NOWAIT"
    with pytest.raises(asyncpg.LockNotAvailableError):
        await ledger.database.execute(query, HERE)
    await ledger.database.execute(query, THERE)


def test_a_promise_belongs_to_its_run_or_to_nobody() -> None:
    run, reservation_id = RunRef(generate_id(), generate_id(), "a"), generate_id()
    for given, expected in (
        (
            run,
            budget_reservations.BudgetReservation(
                HERE, reservation_id, run.automation_id, run.id, "a", CENT, 0
            ),
        ),
        (
            None,
            budget_reservations.BudgetReservation(HERE, reservation_id, None, None, "", CENT, 0),
        ),
    ):
        actor = Actor(HERE, "run", generate_id())
        ask = CapabilityCall("x.y", {}, actor, given, 1, RunPolicy(()), RunBudget(ENDLESS))
        assert budget_reservations.build_reservation(ask, reservation_id, CENT) == expected


@pytest.mark.parametrize("price", [Decimal(0), CENT, Decimal("0.5"), Decimal(7)])
def test_a_sum_of_money_is_a_price(price: Decimal) -> None:
    assert budget_reservations.validate_price("x.y", price) == price


@pytest.mark.parametrize(
    "price", [1, 0.5, "1", None, Decimal("NaN"), Decimal("Infinity"), -CENT, Decimal(-1)]
)
def test_what_is_no_sum_of_money_is_no_price(price: Any) -> None:
    with pytest.raises(InternalError) as refused:
        budget_reservations.validate_price("x.y", price)
    assert not refused.value.retryable


async def test_booking_ends_before_a_cancelled_caller_goes_on() -> None:
    began, go = asyncio.Event(), asyncio.Event()
    booked: list[str] = []

    async def work() -> None:
        began.set()
        await go.wait()
        booked.append("once")

    caller = asyncio.create_task(run_to_completion(work()))
    await began.wait()
    caller.cancel()
    # Enough turns for a caller that does not wait to end.
    for _ in range(5):
        await asyncio.sleep(0)
    assert not caller.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert booked == ["once"]


async def test_a_failure_to_book_reaches_a_caller_that_was_not_cancelled() -> None:
    async def work() -> None:
        raise ValueError("the books are closed")

    with pytest.raises(ValueError, match="the books are closed"):
        await run_to_completion(work())


async def test_a_cancelled_caller_is_cancelled_whatever_became_of_the_books() -> None:
    began, go = asyncio.Event(), asyncio.Event()
    unseen: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, found: unseen.append(found))

    async def work() -> None:
        began.set()
        await go.wait()
        raise ValueError("the books are closed")

    caller = asyncio.create_task(run_to_completion(work()))
    await began.wait()
    caller.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    # An error that nobody has asked for is reported when its task is gone.
    del caller
    gc.collect()
    assert unseen == []
