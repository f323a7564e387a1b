"""What an automation will cost, over REST."""

from __future__ import annotations

from mainspring.authoring.forecast.schemas import FORECAST_SCHEMA
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from tests.kit.api import Api
from tests.kit.bench import document, step

V1 = "/api/v1"
ASK = step("ask", "automation_llm_complete", {"prompt": "Hello"})


async def test_the_price_is_read_before_an_automation_is_activated(api: Api) -> None:
    caps = {"budget_cap_usd": "0.2", "cost_cap_daily_usd": 2}
    hooked = document(ASK, triggers=[{"id": "hook", "type": "webhook"}], execution=caps)
    made = await api.client.post(f"{V1}/automations", json=hooked)
    place = f"{V1}/automations/{made.json()['id']}"
    result = await api.client.get(f"{place}/forecast")

    assert result.status_code == 200, result.text
    assert compile_schema(FORECAST_SCHEMA, Limits()).findings(result.json(), "") == []
    # Nobody knows how often it is called, so its day is the cap on all of thirty days.
    assert result.json()["caps"] == {
        "usd_per_run": "0.2",
        "usd_per_day": "2",
        "usd_per_month": "60",
    }
    assert "at most $60 by its caps" in result.json()["sentence"]
    assert (await api.client.get(place)).json()["state"] == "paused"


async def test_a_price_of_what_is_not_there_is_a_problem_and_strangers_get_none(api: Api) -> None:
    nobody = await api.client.get(f"{V1}/automations/{generate_id()}/forecast")
    assert (nobody.status_code, nobody.json()["code"]) == (404, "no_automation")
    assert (await api.client.get(f"{V1}/automations/x/forecast")).status_code == 422
    anonymous = await api.anonymous.get(f"{V1}/automations/{generate_id()}/forecast")
    assert anonymous.status_code == 401
