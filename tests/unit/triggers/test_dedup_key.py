"""The key of a call: from its header or its body, and only in a form that can be kept."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.triggers.webhook_auth import WebhookRequest, sender_key


@pytest.mark.parametrize(
    ("headers", "body", "key"),
    [
        ([], {}, None),
        ([], [1], None),
        ([], "idempotency_key", None),
        (["a-1"], {}, "a-1"),
        (["a-1"], None, "a-1"),
        ([], {"idempotency_key": "b"}, "b"),
        (["b"], {"idempotency_key": "b"}, "b"),
        (["x" * 255], {}, "x" * 255),
        (["!~"], {}, "!~"),
    ],
)
def test_a_key_is_found_where_the_sender_put_it(
    headers: list[str], body: Any, key: str | None
) -> None:
    assert sender_key(headers, body) == key


@pytest.mark.parametrize(
    ("headers", "body", "pointer"),
    [
        ([""], {}, "/header/idempotency-key"),
        (["two words"], {}, "/header/idempotency-key"),
        (["x" * 256], {}, "/header/idempotency-key"),
        (["é"], {}, "/header/idempotency-key"),
        (["a", "a"], {}, "/header/idempotency-key"),
        ([], {"idempotency_key": ""}, "/idempotency_key"),
        ([], {"idempotency_key": 7}, "/idempotency_key"),
        ([], {"idempotency_key": None}, "/idempotency_key"),
        ([], {"idempotency_key": "x\n"}, "/idempotency_key"),
        (["a"], {"idempotency_key": "b"}, "/idempotency_key"),
    ],
)
def test_a_key_that_cannot_be_one_is_refused_with_its_place(
    headers: list[str], body: Any, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        sender_key(headers, body)
    assert [finding.pointer for finding in refused.value.findings] == [pointer]
    assert refused.value.code == "idempotency_key"


def test_each_webhook_request_has_a_run_of_its_own() -> None:
    one, two = WebhookRequest(None, b""), WebhookRequest(None, b"")
    assert one.run_id != two.run_id
