"""Authoring capabilities for members, clients and runs: create, edit, test and archive.

A run needs a grant for each of them and can author at most what it may do itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mainspring.authoring import saving_schemas as saving
from mainspring.authoring.editing import delete_handler, update_handler
from mainspring.authoring.phrases.capability import read_schedule_capability
from mainspring.authoring.playbook_capabilities import (
    list_handler,
    overlap_handler,
    playbook_handler,
)
from mainspring.authoring.prompts import prompt_capabilities
from mainspring.authoring.proposals.capabilities import proposal_capabilities
from mainspring.authoring.rehearsing import get_rehearsal_handler as look_again_handler
from mainspring.authoring.rehearsing import rehearse_handler
from mainspring.authoring.rehearsing_schemas import (
    GetRehearsalArguments,
    RehearsalResult,
    RehearseAutomationArguments,
)
from mainspring.authoring.running import get_run_handler, run_handler
from mainspring.authoring.saving import save_handler
from mainspring.authoring.service import AuthoringService
from mainspring.authoring.trying_schemas import (
    AutomationRunResult,
    CreateAutomationFlowArguments,
    CreateAutomationFlowResult,
    DeleteAutomationArguments,
    DeleteAutomationResult,
    FindOverlappingAutomationsArguments,
    FindOverlappingAutomationsResult,
    GetAutomationRunArguments,
    ListAutomationsArguments,
    ListAutomationsResult,
    RunAutomationOnceArguments,
)
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.model_schema import build_model_schema
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset

_READS: Final = Annotations(toolset=Toolset.AUTHORING, effect=Effect.READ, seconds=0.5)
_KEEPS: Final = Annotations(
    toolset=Toolset.AUTHORING, effect=Effect.KEEP, transactional=True, seconds=0.5
)
# Members who may only activate and pause can call this too; the handler checks the rest.
_SWITCHES: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.5,
    permission=Permission.SWITCH,
)
_RUNS: Final = Annotations(
    toolset=Toolset.RUNS, effect=Effect.KEEP, seconds=60.0, permission=Permission.RUN
)
_REHEARSES: Final = replace(_RUNS, toolset=Toolset.AUTHORING)


def _compares(studio: AuthoringService) -> Annotations:
    """Similarity by meaning may call an external model."""
    model = studio.likeness.embedder
    return replace(_READS, asks_outside=model is not None and model.outward)


def authoring_capabilities(studio: AuthoringService) -> tuple[Capability, ...]:
    """Build the authoring capabilities."""
    return (
        *_for_readers(studio),
        *proposal_capabilities(studio),
        *prompt_capabilities(),
        Capability(
            "create_automation_flow",
            "Start creating an automation, step by step\n\n"
            "Call it first for any request to create, set up or build an automation. Returns a "
            "playbook: follow its steps in order, one question at a time. Includes script "
            "skeletons that avoid duplicate writes. It changes nothing.",
            build_model_schema(CreateAutomationFlowArguments),
            build_model_schema(CreateAutomationFlowResult),
            playbook_handler(studio),
            annotations=_compares(studio),
        ),
        Capability(
            "save_automation_draft",
            "Save a new automation, paused\n\n"
            "The last step of create_automation_flow. It does not run until a person activates it "
            "at admin_url. To change an existing one, use update_automation; a name in use is "
            "refused.",
            saving.SAVE,
            saving.SAVED,
            save_handler(studio),
            annotations=_KEEPS,
        ),
        Capability(
            "update_automation",
            "Update an automation\n\n"
            "Given fields replace the old values; others stay. state activates or pauses it. "
            "active_version_id restores an earlier version with its grants, caps and triggers.",
            saving.UPDATE,
            saving.UPDATED,
            update_handler(studio),
            annotations=_SWITCHES,
        ),
        Capability(
            "run_automation_once",
            "Run an automation once and wait for the result\n\n"
            "Works while it is paused. The default is a dry run, which changes nothing and lists "
            "the simulated calls; dry_run: false runs it like a trigger would. With run_id, waits "
            "for that run instead of starting one.",
            build_model_schema(RunAutomationOnceArguments),
            build_model_schema(AutomationRunResult),
            run_handler(studio),
            annotations=_RUNS,
        ),
        Capability(
            "rehearse_automation",
            "Rehearse a change on past runs\n\n"
            "Runs a version, proposal or definition over past fire times or samples with the "
            "recorded answers. Saves and sends nothing; compares what would be written, drafted "
            "and spent with what was.",
            build_model_schema(RehearseAutomationArguments),
            build_model_schema(RehearsalResult),
            rehearse_handler(studio),
            annotations=_REHEARSES,
        ),
        Capability(
            "delete_automation",
            "Archive an automation\n\n"
            "It no longer runs and no longer counts as an overlap. Its history stays; only a "
            "person can restore it. To stop it for a while, use update_automation with state "
            "paused.",
            build_model_schema(DeleteAutomationArguments),
            build_model_schema(DeleteAutomationResult),
            delete_handler(studio),
            annotations=_KEEPS,
        ),
    )


def _for_readers(studio: AuthoringService) -> tuple[Capability, ...]:
    """Build the read-only capabilities."""
    return (
        Capability(
            "get_automation_run",
            "Get a run of an automation\n\n"
            "Returns the same as run_automation_once without waiting, for a finished or running "
            "run.",
            build_model_schema(GetAutomationRunArguments),
            build_model_schema(AutomationRunResult),
            get_run_handler(studio),
            annotations=replace(_READS, toolset=Toolset.RUNS),
        ),
        Capability(
            "get_rehearsal",
            "Get a rehearsal\n\n"
            "Returns the same as rehearse_automation without waiting, finished or not.",
            build_model_schema(GetRehearsalArguments),
            build_model_schema(RehearsalResult),
            look_again_handler(studio),
            annotations=_READS,
        ),
        Capability(
            "list_automations",
            "List automations\n\n"
            "Newest first, with state, version and last live run. Archived ones only with state "
            "archived.",
            build_model_schema(ListAutomationsArguments),
            build_model_schema(ListAutomationsResult),
            list_handler(studio),
            annotations=_READS,
        ),
        Capability(
            "find_overlapping_automations",
            "Find automations that write to the same boards\n\n"
            "Call it before you save a new automation. strict_overlap: same board and list field, "
            "and one fire time can start both. With intent, adds automations with a similar "
            "purpose.",
            build_model_schema(FindOverlappingAutomationsArguments),
            build_model_schema(FindOverlappingAutomationsResult),
            overlap_handler(studio),
            annotations=_compares(studio),
        ),
        read_schedule_capability(),
    )
