"""The value of a setting leads a recipe nowhere that it does not name."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from tests.kit.bench import Bench
from tests.kit.codex import Codex, automation

HOST = "{{ install.settings.shop }}.example.com"


def _reader(version: str = "1.0.0") -> dict[str, Any]:
    """What it may call follows from its steps, and so from the setting in their address."""
    read = {
        "step_id": "read",
        "action": "http_fetch",
        "config": {"url": f"https://{HOST}/orders", "method": "GET"},
    }
    return automation(
        "reader",
        [read],
        version=version,
        hosts=[HOST],
        grants=[{"capability": "http_fetch", "params": {"hosts": [HOST]}}],
        settings=[
            {"name": "shop", "label": "Shop", "type": "string", "required": True, "example": "a"}
        ],
    )


@pytest.mark.parametrize(
    "shop",
    ["evil.example.org/", "evil.example.org#", "evil.example.org:8443/", "a@evil.example.org/"],
    ids=["path", "fragment", "port", "user"],
)
async def test_a_setting_does_not_lead_to_another_host(bench: Bench, shop: str) -> None:
    codex = Codex(bench.application)
    await codex.publish(_reader())
    with pytest.raises(Invalid) as refused:
        await codex.apply("reader", settings={"shop": shop})
    assert refused.value.code == "setting_leads_elsewhere"
    assert [one.pointer for one in refused.value.findings] == ["/overrides/settings/shop"]
    assert await codex.call("list_installs") == {"installs": []}

    made = (await codex.apply("reader", settings={"shop": "mine"}))["created"]
    await codex.publish(_reader("1.1.0"))
    with pytest.raises(Invalid) as again:
        await codex.upgrade(made, settings={"shop": shop})
    assert again.value.code == "setting_leads_elsewhere"
    assert [one.pointer for one in again.value.findings] == ["/settings/shop"]
    assert (await codex.check(made))["installed"] == "1.0.0"
