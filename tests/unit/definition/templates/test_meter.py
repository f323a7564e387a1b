"""What one render may use: fuel, memory and processor time, each up to its limit."""

from __future__ import annotations

import time

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates.values import STEPS_PER_LOOK, RenderMeter


def _meter(fuel: int = 10_000, value: int = 100, milliseconds: int = 60_000) -> RenderMeter:
    return RenderMeter(
        Limits(template_fuel=fuel, template_value=value, template_milliseconds=milliseconds)
    )


@pytest.mark.parametrize("step", [1, 100, STEPS_PER_LOOK - 1, STEPS_PER_LOOK + 1])
def test_all_fuel_may_be_spent_and_not_one_step_more(step: int) -> None:
    meter = _meter()
    for _ in range(10_000 // step):
        meter.spend(step)
    meter.spend(10_000 % step)
    assert meter.fuel == 0
    with pytest.raises(Invalid) as refused:
        meter.spend(1)
    assert refused.value.code == "template_too_much_work"


def test_fuel_smaller_than_one_look_at_the_clock_ends_too() -> None:
    meter = _meter(fuel=10)
    meter.spend(10)
    with pytest.raises(Invalid):
        meter.spend(1)


def test_a_value_may_be_as_large_as_the_limit_and_six_of_them_in_one_render() -> None:
    meter = _meter(value=100)
    with pytest.raises(Invalid, match="more than 100 characters") as refused:
        meter.allocate(101)
    assert refused.value.code == "template_too_large"
    for _ in range(6):
        meter.allocate(100)
    meter.allocate(0)
    with pytest.raises(Invalid, match="too much data") as refused:
        meter.allocate(1)
    assert refused.value.code == "template_too_large"


def _work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_work_that_costs_more_time_than_fuel_ends_by_the_clock() -> None:
    meter = _meter(fuel=10**9, milliseconds=20)
    meter.spend(STEPS_PER_LOOK + 1)
    meter.spend(STEPS_PER_LOOK + 1)
    _work(0.03)
    # The clock is not looked at for every step.
    meter.spend(STEPS_PER_LOOK - 1)
    with pytest.raises(Invalid, match="more than 20 ms") as refused:
        meter.spend(2)
    assert refused.value.code == "template_too_much_work"


def test_the_clock_starts_at_the_first_look_and_not_before() -> None:
    meter = _meter(fuel=10**9, milliseconds=20)
    meter.spend(STEPS_PER_LOOK)
    _work(0.03)
    # What came before the first look is not counted.
    meter.spend(1)
    meter.spend(STEPS_PER_LOOK + 1)


def test_the_clock_is_looked_at_after_so_many_steps() -> None:
    meter = _meter(fuel=10**9, milliseconds=20)
    meter.spend(2_001)
    _work(0.03)
    meter.spend(2_000)
    with pytest.raises(Invalid, match="ms"):
        meter.spend(1)


@pytest.mark.parametrize("spent", [(10,), (10 + STEPS_PER_LOOK, 5)])
def test_the_last_steps_of_all_are_paid_by_fuel_alone(spent: tuple[int, ...]) -> None:
    *before, last = spent
    meter = _meter(fuel=sum(spent), milliseconds=20)
    for steps in before:
        meter.spend(steps)
    _work(0.03)
    meter.spend(last)
    _work(0.03)
    meter.spend(0)
    assert meter.fuel == 0
