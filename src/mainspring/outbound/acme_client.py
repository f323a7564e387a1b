"""Obtains certificates from a certificate authority that speaks ACME (RFC 8555).

The library does the protocol: signed requests, nonces and their retry. It blocks, so a call runs in
a thread of its own. Between two questions to the authority it notices that the server stops.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from acme import challenges, client, errors, messages
from acme.crypto_util import make_csr
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.errors import Error as JoseError
from josepy.jwa import ES256
from josepy.jwk import JWK, JWKEC
from josepy.util import ComparableECKey

from mainspring import __version__
from mainspring.contracts.errors import Problem, UpstreamError

ChallengeKind = Literal["tls-alpn-01", "http-01"]
# The protocol that a certificate authority offers when it validates (RFC 8737).
ACME_TLS: Final = "acme-tls/1"

_REQUEST_SECONDS: Final = 20
_VALIDATION_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 1.0
_LONGEST_DETAIL: Final = 800


@challenges.ChallengeResponse.register
class _TlsAlpnResponse(challenges.KeyAuthorizationChallengeResponse):
    typ = "tls-alpn-01"


@challenges.Challenge.register
class _TlsAlpnChallenge(challenges.KeyAuthorizationChallenge):
    """The library has dropped this challenge: its answer depends on the server, as here."""

    response_cls = _TlsAlpnResponse
    typ = response_cls.typ

    def validation(self, account_key: JWK, **more: Any) -> str:
        del more
        return str(self.key_authorization(account_key))


@dataclass(frozen=True, slots=True)
class AcmeChallenge:
    """What the authority looks for under a name; published until it has looked."""

    name: str
    token: str
    key_authorization: str


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A private key and the certificate with its chain, in PEM."""

    key: str
    chain: str


# Publishes the challenges of an order, or withdraws them with an empty list.
Publish = Callable[[Sequence[AcmeChallenge]], None]


class _Network(client.ClientNetwork):
    """Keeps the Retry-After of the last response, which the library's errors leave out."""

    retry_after: float | None = None

    def _send_request(self, *args: Any, **more: Any) -> Any:
        response = super()._send_request(*args, **more)
        text = response.headers.get("Retry-After", "")
        self.retry_after = float(text) if text.isdigit() else None
        return response


class AcmeClient:
    """Obtains certificates with one account."""

    def __init__(
        self,
        directory_url: str,
        kind: ChallengeKind,
        publish: Publish,
        *,
        email: str | None = None,
        ca_file: Path | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self._directory_url = directory_url
        self._kind = kind
        self._publish = publish
        self._email = email
        self._ca_file = ca_file
        self._stop = stop or threading.Event()

    def obtain(self, account_key: str, names: Sequence[str]) -> IssuedCertificate:
        """A new certificate for these names; the account is opened if the key has none.

        The caller has agreed to the terms of the authority.
        """
        network = self._open_network(account_key)
        try:
            return self._obtain(network, names)
        except errors.Error as error:
            raise _as_problem(error, network.retry_after) from error
        except OSError as error:  # what the network reports, that of requests included
            raise UpstreamError(
                f"{self._directory_url} cannot be reached: {type(error).__name__}.",
                code="acme_unreachable",
                suggestion="Check MAINSPRING_ACME_DIRECTORY_URL and the way out of this network.",
            ) from error
        except JoseError as error:
            raise UpstreamError(
                f"{self._directory_url} did not answer as an ACME server does.",
                code="acme_malformed",
                suggestion="Check MAINSPRING_ACME_DIRECTORY_URL.",
            ) from error
        finally:
            network.session.close()

    def _open_network(self, account_key: str) -> _Network:
        key = JWK.from_json(json.loads(account_key))
        network = _Network(
            key,
            alg=ES256,
            user_agent=f"mainspring/{__version__}",
            timeout=_REQUEST_SECONDS,
        )
        if self._ca_file is not None:
            # The library passes it to requests, which takes a file too.
            network.verify_ssl = str(self._ca_file)  # type: ignore[assignment]
        return network

    def _obtain(self, network: _Network, names: Sequence[str]) -> IssuedCertificate:
        acme = client.ClientV2(client.ClientV2.get_directory(self._directory_url, network), network)
        if acme.external_account_required():
            raise UpstreamError(
                f"{self._directory_url} accepts only accounts that were opened with it before.",
                code="acme_external_account",
                suggestion="Use an authority without external account binding.",
            )
        self._open_account(acme)
        key = _generate_key()
        order = acme.new_order(make_csr(key.encode(), domains=list(names)))
        try:
            self._prove(acme, order, network)
            done = acme.finalize_order(order, _deadline(_VALIDATION_SECONDS))
        finally:
            self._publish(())
        return IssuedCertificate(key, done.fullchain_pem)

    def _open_account(self, acme: client.ClientV2) -> None:
        """Open the account of the key, or find it."""
        registration = messages.NewRegistration.from_data(
            email=self._email, terms_of_service_agreed=True
        )
        try:
            acme.new_account(registration)
        except errors.ConflictError as known:
            acme.net.account = messages.RegistrationResource(uri=known.location, body=registration)

    def _prove(
        self, acme: client.ClientV2, order: messages.OrderResource, network: _Network
    ) -> None:
        """Publish the challenges of all names, then have them looked at."""
        key = network.key
        assert key is not None
        pending = [one for one in order.authorizations if one.body.status != messages.STATUS_VALID]
        chosen = [(one, self._choose(one)) for one in pending]
        self._publish(
            [
                AcmeChallenge(
                    one.body.identifier.value,
                    body.chall.encode("token"),
                    body.chall.key_authorization(key),
                )
                for one, body in chosen
            ]
        )
        for _, body in chosen:
            acme.answer_challenge(body, body.response(key))
        for one in pending:
            self._await_validation(acme, one)

    def _choose(self, authorization: messages.AuthorizationResource) -> Any:
        for body in authorization.body.challenges:
            if body.chall.typ == self._kind:
                return body
        offered = ", ".join(sorted(str(one.chall.typ) for one in authorization.body.challenges))
        raise UpstreamError(
            f"{self._directory_url} does not offer {self._kind} for "
            f"{authorization.body.identifier.value}, only {offered or 'nothing'}.",
            code="acme_challenge",
            suggestion="Set MAINSPRING_ACME_CHALLENGE to one that it offers.",
        )

    def _await_validation(
        self, acme: client.ClientV2, authorization: messages.AuthorizationResource
    ) -> None:
        ends = time.monotonic() + _VALIDATION_SECONDS
        while True:
            found, _ = acme.poll(authorization)
            if found.body.status == messages.STATUS_VALID:
                return
            if found.body.status != messages.STATUS_PENDING:
                raise errors.ValidationError([found])
            if time.monotonic() > ends:
                raise errors.TimeoutError
            if self._stop.wait(_PAUSE_SECONDS):
                raise UpstreamError("The server stops.", code="stopping", retryable=True)


def generate_account_key() -> str:
    """A new account key, as a JSON Web Key."""
    key = JWKEC(key=ComparableECKey(ec.generate_private_key(ec.SECP256R1())))
    return str(key.json_dumps())


def _generate_key() -> str:
    return (
        ec.generate_private_key(ec.SECP256R1())
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )


def _deadline(seconds: float) -> Any:
    # The library compares with the local time, without a zone.
    from datetime import datetime, timedelta

    return datetime.now() + timedelta(seconds=seconds)  # noqa: DTZ005


def _as_problem(error: errors.Error, retry_after: float | None) -> Problem:
    """The authority's own words, and when it may be asked again."""
    if isinstance(error, messages.Error):
        return _refusal(error, retry_after)
    if isinstance(error, errors.IssuanceError):
        return _refusal(error.error, retry_after)
    if isinstance(error, errors.ValidationError):
        for authorization in error.failed_authzrs:
            for body in authorization.body.challenges:
                if body.error is not None:
                    return _refusal(body.error, None, authorization.body.identifier.value)
    if isinstance(error, errors.TimeoutError):
        return UpstreamError("The certificate authority did not decide in time.", code="acme_slow")
    return UpstreamError(
        f"The certificate authority did not answer as expected: {type(error).__name__}.",
        code="acme_failed",
    )


# What an operator can do about the errors that they can cause (RFC 8555, section 6.7).
_REMEDIES: Final = {
    "dns": "Point the name to this server with an A or AAAA record.",
    "connection": "Open the port to the internet: 443 for tls-alpn-01, 80 for http-01.",
    "unauthorized": "Make sure that the name leads to this server, not to another one.",
    "tls": "Make sure that nothing on the way ends TLS; use http-01 behind such a proxy.",
    "caa": "Allow this authority in the CAA record of the domain.",
    "rejectedIdentifier": "Use names that this authority issues certificates for.",
    "invalidContact": "Set MAINSPRING_ACME_EMAIL to an address that can receive mail.",
    "rateLimited": "Wait; the next attempt comes by itself. For tests use a staging directory.",
}


def _refusal(error: messages.Error, retry_after: float | None, name: str = "") -> UpstreamError:
    code = error.code or "failed"
    parts = [error.detail or error.title or code]
    parts += [one.detail for one in error.subproblems or () if one.detail]
    subject = f" for {name}" if name else ""
    return UpstreamError(
        f"The certificate authority refused{subject}: {' '.join(parts)[:_LONGEST_DETAIL]}",
        code=f"acme_{code}",
        suggestion=_REMEDIES.get(code),
        retry_after=retry_after,
    )
