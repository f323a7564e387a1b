"""Telemetry that is off is not there, and a collector that cannot be is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.outbound.telemetry import TelemetryExporter, check_telemetry
from mainspring.settings import Settings


def test_without_a_collector_nothing_of_it_is_imported() -> None:
    code = (
        "import sys, mainspring.app, mainspring.surfaces.rest.tracing\n"
        "from mainspring.outbound.telemetry import TelemetryExporter\n"
        "assert TelemetryExporter(None).opened() is None\n"
        "assert not [one for one in sys.modules if one.startswith('opentelemetry.sdk')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_line_that_was_never_opened_closes() -> None:
    await TelemetryExporter("http://127.0.0.1:9").aclose()


@pytest.mark.parametrize(
    "url",
    ["localhost:4318", "grpc://host:4317", "http://", "nonsense", "http://[::1", "http://[x]"],
)
def test_what_is_not_the_address_of_a_collector_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_telemetry(Settings(otlp_url=url))

    assert refused.value.code == "bad_otlp_url"
    check_telemetry(Settings(otlp_url="http://localhost:4318"))
    check_telemetry(Settings())
