"""The longest batteries run when somebody asks for everything: ``WHOLE_SIZES=1 ./check``.

Each of them repeats, in many variations, a promise that a shorter test beside it holds as well,
or starts many servers or processes. The everyday check has to end in a quarter of an hour on two
cores.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

from mainspring.surfaces.cli.settling import settle

# How long an example takes says something of the machine and nothing of the promise.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

LONGEST: Final = (
    "acceptance/stories/test_story_mcp.py",
    "acceptance/stories/test_story_moments.py",
    "acceptance/stories/test_story_owner.py",
    "acceptance/stories/test_story_runs.py",
    "acceptance/stories/test_story_stop.py",
    "acceptance/test_authoring_over_mcp.py",
    "acceptance/test_cli.py",
    "acceptance/test_cli_leaving.py",
    "acceptance/test_cli_living.py",
    "acceptance/test_models.py",
    "acceptance/test_up.py",
    "acceptance/test_words.py",
    "architecture/test_dependencies.py",
    "architecture/test_environment.py",
    "architecture/test_reference.py",
    "browser/test_automations.py",
    "browser/test_boards_and_pages.py",
    "browser/test_codex.py",
    "browser/test_connect.py",
    "browser/test_connections.py",
    "browser/test_halts.py",
    "browser/test_house.py",
    "browser/test_words_to_proposal.py",
    "browser/test_workflows.py",
    "conformance/test_fuzz.py",
    "conformance/test_mcp.py",
    "conformance/test_mcp_third_party.py",
    "crash/test_freeze.py",
    "crash/test_kill_agents.py",
    "crash/test_kill_api.py",
    "crash/test_kill_postgres.py",
    "crash/test_kill_scripts.py",
    "crash/test_matchers.py",
    "crash/test_poison.py",
    "crash/test_schedulers.py",
    "integration/actions/agent",
    "integration/actions/script",
    "integration/authoring",
    "integration/gate/acting",
    "integration/gate/connected",
    "integration/gate/ingestion",
    "integration/gate/outside",
    "integration/gate/providers",
    "integration/gate/test_act_on_integration.py",
    "integration/gate/test_agency.py",
    "integration/gate/test_artifacts.py",
    "integration/gate/test_budgets.py",
    "integration/gate/test_call_caps.py",
    "integration/gate/test_direct_records.py",
    "integration/gate/test_draft_wordings.py",
    "integration/gate/test_egress.py",
    "integration/gate/test_egress_tls.py",
    "integration/gate/test_llm_complete.py",
    "integration/gate/test_mail.py",
    "integration/gate/test_modes.py",
    "integration/gate/test_owner_mail.py",
    "integration/gate/test_prompting.py",
    "integration/gate/test_records.py",
    "integration/gate/test_run_tokens.py",
    "integration/gate/test_secrets_leak.py",
    "integration/gate/test_standing_rules.py",
    "integration/integrations",
    "integration/recipes",
    "integration/security",
    "integration/starters/test_starters.py",
    "integration/store/test_embedded.py",
    "integration/surfaces/cli",
    "integration/surfaces/mcp",
    "integration/surfaces/oauth",
    "integration/surfaces/rest/test_bad_input.py",
    "integration/surfaces/test_backup_commands.py",
    "integration/surfaces/test_induced_failures.py",
    "integration/surfaces/test_kept_app.py",
    "integration/workspace/boards",
    "integration/workspace/connections",
    "integration/workspace/pages",
    "integration/workspace/test_consents.py",
    "integration/workspace/test_consents_held.py",
    "integration/workspace/test_holders.py",
    "integration/workspace/test_key_rotation.py",
    "integration/workspace/test_kv.py",
    "integration/workspace/test_people.py",
    "integration/workspace/test_secret_use.py",
    "integration/workspace/test_secrets.py",
    "integration/workspace/test_tokens.py",
    "integration/workspace/test_vault.py",
    "integration/workspace/test_versions.py",
    "integration/workspace/workflows",
    "property/authoring/forecast/test_forecast_truth.py",
    "property/gate/test_egress_laws.py",
    "property/test_cron.py",
    "property/test_filters.py",
    "property/test_grants.py",
    "property/test_run_states.py",
    "property/test_schedules.py",
    "property/test_templates.py",
    "property/test_validate.py",
    "unit/authoring/generate/test_odd_hand_ins.py",
    "unit/authoring/review/test_review_of_anything.py",
    "unit/authoring/sketch/test_any_words.py",
    "unit/authoring/sketch/test_changing.py",
    "unit/authoring/test_late_loading.py",
    "unit/authoring/test_phrases.py",
    "unit/definition/script/test_any_text.py",
    "unit/surfaces/cli/test_bad_input.py",
    "unit/surfaces/cli/test_first_hours.py",
    "unit/surfaces/cli/test_living_input.py",
    "unit/surfaces/mcp/test_bridge.py",
    "unit/surfaces/mcp/test_late_loading.py",
)
collect_ignore = [] if os.environ.get("WHOLE_SIZES") else list(LONGEST)


def pytest_collection_finish() -> None:
    """What was collected stays to the end; the collector need not look through it in each test."""
    settle()
