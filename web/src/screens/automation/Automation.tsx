// One automation: overview, triggers, versions, grants, runs and settings.

import { Button, ScrollArea, Tabs } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useEffect } from "react";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { useRunsRefresh } from "../../kit/useRunsRefresh";
import { AutomationHaltBanner } from "../health/HaltControls";
import { statusOf, useAutomation } from "./queries";
import { Grants } from "./Grants";
import { Head } from "./Head";
import { Overview } from "./Overview";
import { RunsTab } from "./RunsTab";
import { Settings } from "./Settings";
import { Triggers } from "./Triggers";
import { Versions } from "./Versions";
import type { Detail } from "./automationText";
import { t } from "../../strings";

const TABS = [
  { name: "overview", label: t.automation.overview, Part: Overview },
  { name: "triggers", label: t.automation.triggers2, Part: Triggers },
  { name: "versions", label: t.automation.versions, Part: Versions },
  { name: "grants", label: t.automation.grants, Part: Grants },
  { name: "runs", label: t.automation.runs, Part: RunsTab },
  { name: "settings", label: t.automation.settings2, Part: Settings },
];

/** Redirects old links that named a run in the fragment; runs have their own screen now. */
function useOldLinks(): void {
  const navigate = useNavigate();
  useEffect(() => {
    const match = /^#run-([0-9a-f-]{36})$/.exec(location.hash);
    if (match) void navigate({ to: `/runs/${match[1]}`, replace: true });
  }, [navigate]);
}

function AutomationNotFound() {
  return (
    <>
      <PageHead
        title={t.automation.automation2}
        back={{ to: "/automations", label: t.automation.automations }}
      />
      <Empty
        icon={SearchX}
        title={t.automation.automationNotFound}
        actions={<Button component={Link} to="/automations">{t.automation.goToTheList}</Button>}
      >
        {t.automation.itMayBeInAnother}
      </Empty>
    </>
  );
}

function AutomationTabs({ automation, tab }: { automation: Detail; tab: string }) {
  const navigate = useNavigate();
  const shown = TABS.find((one) => one.name === tab) ?? TABS[0]!;
  const go = (name: string | null) =>
    void navigate({
      to: `/automations/${automation.id}${name === "overview" ? "" : `/${name}`}`,
    });
  return (
    <>
      <Head automation={automation} />
      <AutomationHaltBanner id={automation.id} reason={automation.halted} />
      <Tabs value={shown.name} onChange={go} keepMounted={false}>
        <ScrollArea type="never" mb="lg">
          <Tabs.List style={{ flexWrap: "nowrap" }}>
            {TABS.map(({ name, label }) => <Tabs.Tab key={name} value={name}>{label}</Tabs.Tab>)}
          </Tabs.List>
        </ScrollArea>
        <Tabs.Panel value={shown.name}>
          <shown.Part automation={automation} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

export default function Automation() {
  const { automationId = "", tab = "overview" } = useParams({ strict: false }) as Record<
    string,
    string
  >;
  const query = useAutomation(automationId);
  useOldLinks();
  useRunsRefresh(["/api/v1/automations/{automation_id}"], automationId);
  if ([404, 422].includes(statusOf(query.error))) return <AutomationNotFound />;
  return (
    <QueryResult of={query} lines={8}>
      {(automation) => <AutomationTabs key={automation.id} automation={automation} tab={tab} />}
    </QueryResult>
  );
}
