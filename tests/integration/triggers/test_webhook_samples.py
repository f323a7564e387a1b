"""A signed sample takes the way of a real request."""

from __future__ import annotations

import pytest

from mainspring.app import application_services
from mainspring.contracts.errors import Conflict
from mainspring.triggers.webhook_receiver import WebhookReceipt
from mainspring.triggers.webhook_samples import send_sample
from mainspring.triggers.webhook_signatures import PROVIDERS
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import hook, webhook

SIGNABLE = sorted(PROVIDERS.keys() - {"discord", "sendgrid"})
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


async def _send(bench: Bench, api: Api, used: str, asked: str, event: str = "push") -> object:
    await bench.application.vault.set(bench.secret_scope, "sender_key", SECRET)
    auth = {"type": "signature", "provider": used, "secret": "sender_key"}
    called = await hook(bench, api, webhook(config={"auth": auth}), name=f"{used} {asked}")
    services = application_services(bench.application)
    try:
        return await send_sample(
            services.webhook_receiver,
            services.limits,
            called.automation_id,
            called.slug,
            url=f"{services.settings.address}{called.signed_path}",
            provider=PROVIDERS[asked],
            event=event,
        )
    finally:
        await services.webhook_receiver.aclose()


async def test_a_sample_of_each_provider_starts_a_run(bench: Bench, api: Api) -> None:
    for name in SIGNABLE:
        made = await _send(bench, api, name, name)
        assert isinstance(made, WebhookReceipt), name
        payload = (await bench.read(made.run_id))["payload"]
        assert payload["body"]["sample"] in (True, "true")
        provider = PROVIDERS[name]
        if provider.event.header or provider.event.body:
            assert payload["event"] == "push", name


async def test_a_sample_needs_the_provider_of_the_webhook(bench: Bench, api: Api) -> None:
    with pytest.raises(Conflict, match="does not verify signatures of Stripe"):
        await _send(bench, api, "github", "stripe")


async def test_a_provider_with_a_private_key_has_no_sample(bench: Bench, api: Api) -> None:
    with pytest.raises(Conflict, match="private key"):
        await _send(bench, api, "discord", "discord")
