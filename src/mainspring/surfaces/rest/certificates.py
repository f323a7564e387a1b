"""The certificate of a public server: obtained, renewed and replaced while the server runs.

A certificate is renewed when two thirds of its lifetime have passed, so that a third is left for
attempts that fail. Attempts back off and continue after a restart where they were: authorities
limit them. A failure is reported once, and so is its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

import orjson
from cryptography import x509

from mainspring.contracts.errors import Problem, as_problem, describe_for_log
from mainspring.contracts.ids import generate_id
from mainspring.outbound.acme_client import AcmeClient, ChallengeKind, generate_account_key
from mainspring.runs.health import HealthCheck
from mainspring.surfaces.rest.certificate_store import CertificateStore
from mainspring.surfaces.rest.https_context import (
    find_challenged_name,
    make_challenge_context,
    make_context,
    make_temporary_context,
)
from mainspring.triggers.alerts import mails
from mainspring.workspace.alerts import Alert, post_alert
from mainspring.workspace.automations import FIRST_WORKSPACE

if TYPE_CHECKING:
    import socket
    import ssl

    from mainspring.outbound.acme_client import AcmeChallenge
    from mainspring.settings import Settings
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

# Another machine may have renewed the certificate; the renewal itself comes at its own time.
CHECK_SECONDS: Final = 60.0
_FIRST_RETRY: Final = timedelta(minutes=1)
_LONGEST_RETRY: Final = timedelta(hours=12)
_RATE_LIMITED: Final = timedelta(hours=1)
# Failures in a row that are reported although a certificate is in use.
_REPORTED_FAILURES: Final = 3
# The part of the lifetime that is left when failing renewals make the installation unhealthy.
_URGENT: Final = 6
_TOKEN_PREFIX: Final = "token_"  # noqa: S105 - a name
_KEY, _CHAIN, _ACCOUNT, _STATE = "key", "chain", "account", "state"


@dataclass(frozen=True, slots=True)
class RenewalState:
    """How the attempts since the last success went."""

    failures: int = 0
    retry_at: str = ""
    problem: str = ""
    suggestion: str = ""
    reported: bool = False

    def next_attempt(self) -> datetime:
        return datetime.fromisoformat(self.retry_at) if self.retry_at else _BEGINNING


_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


def compute_renewal_time(certificate: x509.Certificate) -> datetime:
    """When two thirds of the lifetime have passed."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begins + (ends - begins) * 2 / 3


def compute_retry_delay(failures: int, problem: Problem) -> timedelta:
    """Twice as long after each failure; never sooner than the authority allows."""
    delay: timedelta = min(_FIRST_RETRY * 2 ** min(failures - 1, 20), _LONGEST_RETRY)
    if problem.code == "acme_rateLimited":
        delay = max(delay, _RATE_LIMITED)
    if problem.retry_after is not None:
        delay = max(delay, timedelta(seconds=problem.retry_after))
    return delay


class CertificateManager:
    """Keeps the certificate of this server valid, and answers challenges meanwhile."""

    def __init__(
        self,
        settings: Settings,
        store: CertificateStore,
        database: Database,
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._settings = settings
        self._store = store
        self._database = database
        self._check_seconds = check_seconds
        self._names = settings.acme_domains
        self._context = make_temporary_context(self._names)
        self._chain = ""
        self._certificate: x509.Certificate | None = None
        self._state = RenewalState()
        self._challenges: dict[str, ssl.SSLContext] = {}
        self._stopping = threading.Event()

    async def choose_context(self, accepted: socket.socket) -> ssl.SSLContext:
        """The context of a new connection."""
        if self._challenges:
            name = await find_challenged_name(accepted)
            if name is not None and name in self._challenges:
                return self._challenges[name]
        return self._context

    async def find_key_authorization(self, token: str) -> str | None:
        """What answers an http-01 request for this token."""
        if not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
            return None
        found = await self._store.read(_TOKEN_PREFIX + "current")
        return None if found is None else cast("dict[str, str]", orjson.loads(found)).get(token)

    async def run(self, stop: asyncio.Event) -> None:
        """Obtain and renew until stopped."""
        ending = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self.check()
                await asyncio.wait({ending}, timeout=self._compute_pause())
        finally:
            self._stopping.set()
            ending.cancel()

    def _compute_pause(self) -> float:
        """Until the next attempt, or until the store is read again."""
        due = self._compute_due()
        return max(0.0, min((due - datetime.now(UTC)).total_seconds(), self._check_seconds))

    def _compute_due(self) -> datetime:
        due = _BEGINNING if self._certificate is None else compute_renewal_time(self._certificate)
        return max(due, self._state.next_attempt())

    async def check(self) -> None:
        """Use what is stored, and renew it if it is due; no error ends the loop."""
        try:
            await self._load()
            if self._compute_due() > datetime.now(UTC):
                return
            async with self._store.lock() as held:
                if not held:
                    return
                await self._load()
                if self._compute_due() <= datetime.now(UTC):
                    await self._renew()
        except Exception as error:
            log.warning("The certificate could not be checked: %s", describe_for_log(error))
            # The store does not answer; it is asked again after the usual pause.
            retry = datetime.now(UTC) + timedelta(seconds=self._check_seconds)
            self._state = RenewalState(**{**asdict(self._state), "retry_at": retry.isoformat()})

    async def _load(self) -> None:
        stored = await self._store.read(_STATE)
        self._state = RenewalState() if stored is None else RenewalState(**orjson.loads(stored))
        chain = await self._store.read(_CHAIN)
        key = await self._store.read(_KEY)
        if chain is None or key is None or chain == self._chain:
            return
        certificate = x509.load_pem_x509_certificate(chain.encode())
        if not _covers(certificate, self._names):
            # The names in the settings have changed.
            return
        try:
            context = make_context(key, chain)
        except OSError:
            # The key is that of another certificate: a crash came between the two.
            log.warning("The stored certificate does not match its key; a new one is obtained.")
            return
        self._context, self._certificate, self._chain = context, certificate, chain

    async def _renew(self) -> None:
        try:
            issued = await self._obtain()
        except Exception as error:
            if self._stopping.is_set():
                return
            await self._fail(as_problem(error))
            return
        await self._store.write(_KEY, issued[0])
        await self._store.write(_CHAIN, issued[1])
        before = self._state
        await self._store.delete(_STATE)
        await self._load()
        log.info("A certificate for %s was obtained.", ", ".join(self._names))
        if before.reported:
            await self._post(
                "info",
                "The certificate is renewed again",
                f"A certificate for {', '.join(self._names)} was obtained after "
                f"{before.failures} attempts that failed.",
            )

    async def _obtain(self) -> tuple[str, str]:
        account = await self._store.read(_ACCOUNT)
        if account is None:
            account = generate_account_key()
            await self._store.write(_ACCOUNT, account)
        settings, loop = self._settings, asyncio.get_running_loop()

        def publish(challenges: Sequence[AcmeChallenge]) -> None:
            asyncio.run_coroutine_threadsafe(self._publish(challenges), loop).result()

        client = AcmeClient(
            settings.acme_directory_url,
            cast("ChallengeKind", settings.acme_challenge),
            publish,
            email=settings.acme_email,
            ca_file=settings.acme_ca_file,
            stop=self._stopping,
        )
        issued = await asyncio.to_thread(client.obtain, account, self._names)
        return issued.key, issued.chain

    async def _publish(self, challenges: Sequence[AcmeChallenge]) -> None:
        if self._settings.acme_challenge == "tls-alpn-01":
            self._challenges = {
                one.name: make_challenge_context(one.name, one.key_authorization)
                for one in challenges
            }
        elif challenges:
            # Stored, because the authority may connect to another machine.
            tokens = {one.token: one.key_authorization for one in challenges}
            await self._store.write(_TOKEN_PREFIX + "current", orjson.dumps(tokens).decode())
        else:
            await self._store.delete(_TOKEN_PREFIX + "current")

    async def _fail(self, problem: Problem) -> None:
        failures = self._state.failures + 1
        delay = compute_retry_delay(failures, problem)
        report = not self._state.reported and (
            self._certificate is None or failures >= _REPORTED_FAILURES
        )
        self._state = RenewalState(
            failures,
            (datetime.now(UTC) + delay).isoformat(),
            problem.detail,
            problem.suggestion or "",
            self._state.reported or report,
        )
        log.warning(
            "No certificate was obtained, attempt %d; the next comes in %s: %s",
            failures,
            delay,
            problem.detail,
        )
        if report:
            await self._post("error", self._title(), self._describe_failure())
        await self._store.write(_STATE, orjson.dumps(asdict(self._state)).decode())

    def _title(self) -> str:
        return f"No certificate for {self._names[0]}"[:200]

    def _describe_failure(self) -> str:
        lines = [self._state.problem, self._state.suggestion]
        ends = self._certificate and self._certificate.not_valid_after_utc
        lines.append(
            "Until it succeeds, the server has a temporary certificate that browsers and senders "
            "of webhooks refuse."
            if ends is None
            else f"The certificate in use is valid until {ends:%Y-%m-%d %H:%M} UTC."
        )
        lines.append("It is retried with growing pauses. You get no further message until then.")
        return "\n\n".join(line for line in lines if line)

    async def _post(self, level: str, title: str, message: str) -> None:
        alert = Alert(
            generate_id(),
            FIRST_WORKSPACE,
            None,
            None,
            level,
            title,
            message,
            mails(self._settings),
        )
        with contextlib.suppress(OSError):
            async with self._database.transaction() as tx:
                await post_alert(tx, alert)

    def check_health(self) -> HealthCheck:
        """The state for ``/health``."""
        now, failing = datetime.now(UTC), self._state.failures > 0
        if self._certificate is None:
            why = f" The last attempt failed: {self._state.problem}" if failing else ""
            return HealthCheck("certificate", False, f"There is no certificate yet.{why}")
        begins, ends = (
            self._certificate.not_valid_before_utc,
            self._certificate.not_valid_after_utc,
        )
        if ends <= now:
            return HealthCheck(
                "certificate", False, f"The certificate has expired. {self._state.problem}".strip()
            )
        text = f"The certificate is valid until {ends:%Y-%m-%d %H:%M} UTC."
        if failing:
            text += f" Renewing it has failed {self._state.failures} times: {self._state.problem}"
        urgent = failing and (ends - now) < (ends - begins) / _URGENT
        return HealthCheck("certificate", not urgent, text)


def _covers(certificate: x509.Certificate, names: Sequence[str]) -> bool:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return False
    return set(names) <= set(found.value.get_values_for_type(x509.DNSName))
