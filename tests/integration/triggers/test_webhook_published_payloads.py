"""The payloads that GitHub publishes, sent with GitHub's headers and signature."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import httpx2

from scripts.node_packages import installed
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import hook, webhook

PINS = Path(__file__).resolve().parents[2] / "conformance" / "webhook_payloads"
PLACE = "node_modules/@octokit/webhooks-examples/api.github.com/index.json"
KEY = "It's a Secret to Everybody"


def _published() -> list[tuple[str, dict[str, Any]]]:
    """Each event that GitHub documents, with the first of its examples."""
    content = (installed(PINS, "webhook-payloads") / PLACE).read_text()
    return [(entry["name"], entry["examples"][0]) for entry in json.loads(content)]


async def test_every_published_event_of_github_starts_a_run(bench: Bench, api: Api) -> None:
    await bench.application.vault.set(bench.secret_scope, "github_key", KEY)
    auth = {"type": "signature", "provider": "github", "secret": "github_key"}
    called = await hook(bench, api, webhook(config={"auth": auth}))
    published = await asyncio.to_thread(_published)
    assert len(published) > 40
    together = asyncio.Semaphore(8)

    async def send(number: int, event: str, payload: dict[str, Any]) -> httpx2.Response:
        raw = json.dumps(payload, indent=2).encode()
        digest = hmac.new(KEY.encode(), raw, hashlib.sha256).hexdigest()
        async with together:
            return await called.api.anonymous.post(
                called.signed_path,
                content=raw,
                headers={
                    "Accept": "*/*",
                    "Content-Type": "application/json",
                    "User-Agent": "GitHub-Hookshot/044aadd",
                    "X-GitHub-Delivery": f"72d3162e-cc78-11e3-81ab-{number:012x}",
                    "X-GitHub-Event": event,
                    "X-GitHub-Hook-ID": "292430182",
                    "X-GitHub-Hook-Installation-Target-ID": "79929171",
                    "X-GitHub-Hook-Installation-Target-Type": "repository",
                    "X-Hub-Signature": "sha1=not-used",
                    "X-Hub-Signature-256": f"sha256={digest}",
                },
            )

    answers = await asyncio.gather(
        *(send(number, event, payload) for number, (event, payload) in enumerate(published))
    )
    for (event, payload), answer in zip(published, answers, strict=True):
        if event == "ping":
            assert answer.status_code == 200, answer.text
            continue
        assert answer.status_code == 202, (event, answer.text)
        kept = (await bench.read(answer.json()["run_id"]))["payload"]
        assert (kept["event"], kept["body"]) == (event, payload)
        assert not {"x-hub-signature", "x-hub-signature-256"} & kept["headers"].keys()
