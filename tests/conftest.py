"""The longest batteries run when somebody asks for everything: ``WHOLE_SIZES=1 ./check``.

Each of them repeats, in many variations, a promise that a shorter test beside it holds as well,
or starts many servers or processes. The everyday check has to end in a quarter of an hour on two
cores.
"""

from __future__ import annotations

import os
from typing import Final

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
    "architecture/test_reference.py",
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
    "integration/actions/script/escape",
    "integration/actions/script/sandbox",
    "integration/actions/script/test_scripts.py",
    "integration/authoring",
    "integration/gate/outside",
    "integration/gate/providers",
    "integration/gate/test_secrets_leak.py",
    "integration/security/test_connected_leaks.py",
    "integration/security/test_foreign_definitions.py",
    "integration/security/test_integration_writes.py",
    "integration/security/test_orders.py",
    "integration/security/test_orders_to_authors.py",
    "integration/security/test_wired_agents.py",
    "integration/starters/test_starters.py",
    "integration/store/test_embedded.py",
    "integration/surfaces/cli",
    "integration/surfaces/rest/test_bad_input.py",
    "integration/surfaces/test_induced_failures.py",
    "integration/surfaces/test_kept_app.py",
    "property/authoring/forecast/test_forecast_truth.py",
    "property/test_cron.py",
    "property/test_run_states.py",
    "property/test_templates.py",
    "property/test_validate.py",
    "unit/authoring/generate/test_odd_hand_ins.py",
    "unit/authoring/review/test_review_of_anything.py",
    "unit/authoring/sketch/test_any_words.py",
    "unit/authoring/sketch/test_changing.py",
    "unit/authoring/test_late_loading.py",
    "unit/definition/script/test_any_text.py",
    "unit/surfaces/cli/test_bad_input.py",
    "unit/surfaces/cli/test_living_input.py",
    "unit/surfaces/mcp/test_bridge.py",
    "unit/surfaces/mcp/test_late_loading.py",
)
collect_ignore = [] if os.environ.get("WHOLE_SIZES") else list(LONGEST)
