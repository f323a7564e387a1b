"""An argument that nobody knows is reported in known names alone where values are hidden."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.errors import Invalid
from mainspring.gate.capability_call import check_unknown_arguments


async def _nothing(ctx: Any, value: Any) -> None:
    del ctx, value


CONNECT = Capability(
    "connect",
    "connect",
    {"properties": {"name": {}, "base_url": {}, "key": {}}},
    {},
    _nothing,
    annotations=Annotations(hidden_arguments=frozenset({"key"})),
)


@pytest.mark.parametrize(
    ("stray", "meant"), [("url", "base_url"), ("nam", "name"), ("sk-ant-0123456789", None)]
)
def test_the_way_out_names_what_may_be_meant_and_never_the_stray(
    stray: str, meant: str | None
) -> None:
    with pytest.raises(Invalid) as caught:
        check_unknown_arguments({stray: 1}, CONNECT)
    output = str(caught.value.suggestion)

    assert output.startswith("It has name, base_url, key.")
    assert output.endswith(f"Did you mean {meant}?") is (meant is not None)
    assert "sk-ant" not in f"{caught.value.detail} {output}"
