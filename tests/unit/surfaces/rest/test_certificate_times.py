"""When a certificate is renewed, and when a failed attempt is repeated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from mainspring.contracts.errors import UpstreamError
from mainspring.surfaces.rest.certificates import compute_renewal_time, compute_retry_delay


def test_a_certificate_is_renewed_after_two_thirds_of_its_lifetime() -> None:
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=90))
        .sign(key, hashes.SHA256())
    )
    assert compute_renewal_time(certificate) == begins + timedelta(days=60)


@pytest.mark.parametrize(
    ("failures", "code", "retry_after", "expected"),
    [
        (1, "acme_connection", None, timedelta(minutes=1)),
        (3, "acme_connection", None, timedelta(minutes=4)),
        (50, "acme_connection", None, timedelta(hours=12)),
        (1, "acme_rateLimited", None, timedelta(hours=1)),
        (1, "acme_rateLimited", 7_200.0, timedelta(hours=2)),
    ],
)
def test_attempts_back_off_and_obey_the_authority(
    failures: int, code: str, retry_after: float | None, expected: timedelta
) -> None:
    problem = UpstreamError("No.", code=code, retry_after=retry_after)
    assert compute_retry_delay(failures, problem) == expected
