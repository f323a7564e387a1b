"""The one door: every call of a capability passes through the gate.

A step of a plan calls with ``call`` and writes the record with its own. Everybody else, a
person, a client or a program that holds the token of a run, is a visitor: ``offers`` says
what they may call and ``serve`` calls it for them, with the record written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from mainspring.connections.accounts.account_connections import AccountConnections
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor, Mailer, RunRef, StepStart
from mainspring.contracts.errors import LimitExceeded, PermissionDenied, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import EmptyModelCatalog, ModelCatalog, Usage
from mainspring.contracts.preflight import NoPreflight, Preflight
from mainspring.contracts.registry import WorkspaceVocabularies
from mainspring.contracts.secret import ScriptSecrets
from mainspring.gate.call_records import Journal, read_calls
from mainspring.gate.call_state import CallRecorder, unknown
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.capability_call import (
    CapabilityCall,
    CapabilityResult,
    canonical_json,
    digest,
    mark_secrets,
    mask_arguments,
    mask_result,
    show_secret_names,
)
from mainspring.gate.capability_offers import CapabilityOffer, offers_to, restrict_to_connections
from mainspring.gate.draft_resolution import DraftResolution, resolve_draft
from mainspring.gate.drafting.resume import NullResumer, Resumer, withdraw_drafts
from mainspring.gate.drafts import DraftLifetimes
from mainspring.gate.pipeline import Pipeline
from mainspring.gate.policy import RunPolicy, effect_of
from mainspring.gate.rate_limit import RateLimiter
from mainspring.gate.rehearsal_recording import RehearsalRecording, load_rehearsal_recording
from mainspring.gate.run_budget import ENDLESS, RunBudget
from mainspring.gate.run_tokens import RunTokenScope, end_token, list_token_calls, mint, next_number
from mainspring.gate.unanswered_requests import settle_open_reservations
from mainspring.gate.usage_report import UsageReporter, day_spent, load_run_budget, report_usage
from mainspring.outbound.egress import Egress
from mainspring.store.database import Database, WorkspaceDatabase
from mainspring.workspace.artifacts.blobs import BlobStore, NullBlobStore
from mainspring.workspace.redaction import RunSecretMasker
from mainspring.workspace.sealing import SecretScope
from mainspring.workspace.vault import Vault


class Gate:
    """Who may call what, and the way there."""

    def __init__(
        self,
        vocabulary: WorkspaceVocabularies,
        database: Database,
        egress: Egress,
        vault: Vault,
        clock: Clock,
        limits: Limits,
        *,
        mailer: Mailer,
        owner_mail: str | None = None,
        lifetimes: DraftLifetimes | None = None,
        models: ModelCatalog | None = None,
        blobs: BlobStore | None = None,
        lines: AccountConnections | None = None,
        preflight: Preflight | None = None,
        resumer: Resumer | None = None,
    ) -> None:
        # What a definition counts on is compared with what is here.
        self.preflight: Preflight = preflight or NoPreflight()
        self._vocabulary = vocabulary
        self._database = database
        self._vault = vault
        self._clock = clock
        self._keeping = CallRecorder(database, limits)
        self._visits = RateLimiter(limits.direct_burst, limits.direct_per_second)
        self._pipeline = Pipeline(
            vocabulary,
            database,
            egress,
            vault,
            clock,
            limits,
            mailer,
            self._keeping,
            lifetimes or DraftLifetimes(),
            models or EmptyModelCatalog(),
            blobs or NullBlobStore(),
            owner_mail,
            lines,
            resumer or NullResumer(),
        )

    @property
    def models(self) -> ModelCatalog:
        """The models that calls ask."""
        return self._pipeline.models

    async def call(self, ask: CapabilityCall) -> CapabilityResult:
        """Decides about one call and performs it if it may be performed."""
        return await self._pipeline.call(ask)

    async def offers(self, caller: CapabilityCaller) -> list[CapabilityOffer]:
        """Everything a visitor may call, with the schema as it stands for them."""
        words = await self._vocabulary.of(caller.actor.workspace_id)
        found = list(offers_to(words, caller))
        surfaces = {
            one for offer in found for one in offer.capability.annotations.connected.values()
        }
        if not surfaces or self._pipeline.lines is None:
            return found
        owner = caller.actor.id
        if caller.held is not None:
            owner = caller.held.posture.owner_id or owner
        space = caller.actor.workspace_id
        sources = await self._pipeline.lines.sources_for(space, owner, surfaces)
        return [restrict_to_connections(offer, sources) for offer in found]

    async def names(self, workspace_id: UUID) -> Collection[str]:
        """The name of every capability of a workspace, without checking permissions."""
        return (await self._vocabulary.of(workspace_id)).capabilities.keys()

    async def find(self, workspace_id: UUID, capability: str) -> Capability | None:
        """A capability by its name, the tools that the workspace is connected to included."""
        found = self._vocabulary.capabilities.get(capability)
        if found is None:
            words = await self._vocabulary.of(workspace_id, needing=[capability])
            found = words.capabilities.get(capability)
        return found

    async def serve(
        self, caller: CapabilityCaller, capability: str, arguments: Mapping[str, Any]
    ) -> Any:
        """A call by anybody but a step: its value, or its problem raised; always recorded."""
        if caller.held is not None:
            return await self._as_run(caller.held, capability, arguments)
        return await self.direct(caller, capability, arguments)

    async def direct(
        self, caller: CapabilityCaller, capability: str, arguments: Mapping[str, Any]
    ) -> Any:
        """A call without a run: its value, or its problem raised; recorded either way."""
        self._check_rate(caller)
        space = caller.actor.workspace_id
        found = await self.find(space, capability)
        if found is None or not caller.sees(found):
            words = await self._vocabulary.of(space)
            seen = {n: c for n, c in words.capabilities.items() if caller.sees(c)}
            raise unknown(capability, seen)
        ask = CapabilityCall(
            capability,
            arguments,
            caller.actor,
            None,
            1,
            RunPolicy(()),
            RunBudget(ENDLESS),
            id=generate_id(),
            client_wait=caller.client_wait,
        )
        refusal = caller.refusal(found)
        if refusal is not None:
            return await self._told(ask, self._pipeline.turned_away(ask, found, refusal))
        return await self._told(ask, await self.call(ask))

    async def look(
        self,
        workspace_id: UUID,
        automation_id: UUID,
        capability: str,
        arguments: Mapping[str, Any],
        policy: RunPolicy,
        budget: RunBudget,
    ) -> Any:
        """A read by an automation's trigger, outside of a run and within its grants.

        The value, or its problem raised; recorded either way. A call that could change anything is
        refused.
        """
        found = await self.find(workspace_id, capability)
        if found is None:
            words = await self._vocabulary.of(workspace_id)
            raise unknown(capability, words.capabilities)
        ask = CapabilityCall(
            capability,
            arguments,
            # It acts with grants and not with a role, as a run does.
            Actor(workspace_id, "run", automation_id),
            None,
            1,
            policy,
            budget,
            id=generate_id(),
            automation_id=automation_id,
        )
        if effect_of(found, arguments) is not Effect.READ:
            refusal = PermissionDenied(
                f"{capability} can change something; a trigger only reads.", code="not_a_read"
            )
            return await self._told(ask, self._pipeline.turned_away(ask, found, refusal))
        return await self._told(ask, await self.call(ask))

    async def _as_run(
        self, held: RunTokenScope, capability: str, arguments: Mapping[str, Any]
    ) -> Any:
        """A call with the token of a run, which must work at this very moment."""
        number = await next_number(self._database, held)
        known = await self.known_to(
            SecretScope(held.actor.workspace_id, held.posture.owner_id or held.actor.id),
            held.secrets,
        )
        ask = CapabilityCall(
            capability,
            arguments,
            held.actor,
            held.run,
            number,
            held.posture,
            held.budget,
            held.fence,
            known=known,
            spelt=held.spelt,
            token=held.hash,
            memory=await self.memory_of(held.actor.workspace_id, held.run.id)
            if held.rehearses
            else None,
        )
        return await self._told(ask, await self.call(ask))

    async def _told(self, ask: CapabilityCall, answer: CapabilityResult) -> Any:
        """The value of an answer, or its problem, once its record is where it belongs."""
        if answer.record is not None:
            called = await self.find(ask.actor.workspace_id, ask.capability)
            kept = answer.value if called is None else mask_result(answer.value, called)
            await self._keeping.keep(ask, replace(answer.record, result=kept))
        if answer.error is not None:
            raise answer.error
        return answer.value

    def _check_rate(self, caller: CapabilityCaller) -> None:
        actor = caller.actor
        wait = self._visits.take(actor.token_id or actor.id)
        if wait:
            raise LimitExceeded(
                "This caller exceeded its rate limit.",
                code="too_many_calls",
                suggestion="Wait a few seconds, then call less often.",
                retry_after=wait,
            )

    async def known_to(self, scope: SecretScope, names: Iterable[str]) -> RunSecretMasker:
        """What must not be shown of a run whose definition names these secrets."""
        known = RunSecretMasker()
        for name in sorted(names):
            # One that is gone, or does not open, can have been used no longer.
            with contextlib.suppress(Problem):
                known.learn(await self._vault.reveal(scope, [name]))
        return known

    async def start(self, workspace_id: UUID, run: RunRef, fence: int) -> StepStart:
        """A new token for one try at a step, and the moment at which the step began."""
        return await mint(self._database, workspace_id, run, fence, self._clock.now())

    async def hash_of(
        self,
        workspace_id: UUID,
        capability: str,
        arguments: Mapping[str, Any],
        secrets: ScriptSecrets | None,
    ) -> bytes:
        """By what the record of a call is told from those of other calls."""
        known = await self.find(workspace_id, capability)
        if known is None:
            return digest(canonical_json(arguments))
        return digest(
            canonical_json(
                mask_arguments(show_secret_names(mark_secrets(arguments, known, secrets)), known)
            )
        )

    async def changes(self, workspace_id: UUID, capability: str) -> bool:
        """Whether calls of it may change anything; those of an agent's tools do so for it."""
        known = await self.find(workspace_id, capability)
        reads = known is None or known.annotations.effect is Effect.READ
        return not reads or capability == AGENT_RUN

    async def calls_of(self, workspace_id: UUID, run_id: UUID) -> Journal:
        """Every call that a run has on record."""
        return await read_calls(self._database, workspace_id, run_id)

    async def memory_of(self, workspace_id: UUID, run_id: UUID) -> RehearsalRecording:
        """What a run of a rehearsal is answered from the record of another."""
        return await self._database.run_retrying(
            lambda link: load_rehearsal_recording(link, workspace_id, run_id)
        )

    async def report_usage(self, by: UsageReporter, usage: Usage) -> Problem | None:
        """Books what a run says of a model of its own; which cap has been reached, if one has."""
        return await report_usage(self._database, by, usage, self._clock.now())

    async def looked_up(self, workspace_id: UUID, run: RunRef, budget: RunBudget) -> RunBudget:
        """A purse as the ledger knows it, with what other processes have spent for the run."""
        return await load_run_budget(self._database, workspace_id, run, budget)

    async def day_spent(self, workspace_id: UUID, automation_id: UUID) -> tuple[Decimal, bool]:
        """What an automation has spent today, and whether its workspace has spent its all."""
        return await day_spent(self._database, workspace_id, automation_id)

    async def shut_out(
        self, workspace_id: UUID, owner_id: UUID, accounts: Iterable[str]
    ) -> Problem | None:
        """Why one of these integrations cannot be used for a member now; None when all can."""
        lines = self._pipeline.lines
        return None if lines is None else await lines.shut_out(workspace_id, owner_id, accounts)

    async def end_token(
        self, workspace_id: UUID, run: RunRef, token: str
    ) -> Sequence[tuple[int, str, Decimal]]:
        """Ends a token; answers number, outcome and cost of each call made with it.

        An ask of a model that is still under way ends with it, as one that broke off.
        """
        if not await self._database.run_retrying(lambda link: end_token(link, token)):
            return ()
        lost = await self._database.run_retrying(
            lambda link: settle_open_reservations(link, workspace_id, run)
        )
        return [*await self.list_other_calls(workspace_id, run), (0, "read", lost)]

    async def list_other_calls(
        self, workspace_id: UUID, run: RunRef
    ) -> Sequence[tuple[int, str, Decimal]]:
        """The same for all calls of a try that its step did not make itself."""
        return await list_token_calls(self._database, workspace_id, run)

    async def came_of(self, workspace_id: UUID, draft_id: UUID) -> DraftResolution:
        """What came of a draft that a run waits for."""
        words = await self._vocabulary.of(workspace_id)
        inside = WorkspaceDatabase(self._database, workspace_id)
        return await inside.run_retrying(
            lambda tx: resolve_draft(tx, workspace_id, draft_id, words.capabilities)
        )

    async def withdraw(self, workspace_id: UUID, run_id: UUID) -> None:
        """Discards the drafts that a run waited for and that nobody has answered."""
        inside = WorkspaceDatabase(self._database, workspace_id)
        await inside.run_retrying(lambda tx: withdraw_drafts(tx, workspace_id, run_id))

    async def aclose(self) -> None:
        """Writes the records that are still to be written."""
        await self._keeping.aclose()
        if self._pipeline.lines is not None:
            await self._pipeline.lines.aclose()
