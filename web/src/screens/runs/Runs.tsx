// All runs of the workspace, live; failed ones can be replayed together.

import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Activity } from "lucide-react";
import { useState } from "react";
import { useHasRole } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { Pick } from "../automations/Filters";
import { useListKeys } from "../automations/useListKeys";
import { MODES, parseQuery, type RunSummary, STATUSES } from "./listQuery";
import { AutomationPick } from "./AutomationPick";
import { BulkReplay } from "./BulkReplay";
import { RunList } from "./RunList";
import { t } from "../../strings";

const nowhere = () => null;

function NoRuns({ narrowed, clear }: { narrowed: boolean; clear: () => void }) {
  return narrowed
    ? (
      <Empty
        icon={Activity}
        title={t.runs.noMatchingRuns}
        actions={<Button variant="default" onClick={clear}>{t.runs.showAllRuns}</Button>}
      >
        {t.runs.tryOtherFiltersRunsAre}
      </Empty>
    )
    : (
      <Empty
        icon={Activity}
        title={t.runs.noRunsYet}
        actions={<Button component={Link} to="/automations">{t.runs.goToAutomations}</Button>}
      >
        {t.runs.everyRunAppearsHereAs}
      </Empty>
    );
}

export default function Runs() {
  const [values, change] = useUrlState();
  const [chosen, setChosen] = useState<Map<string, RunSummary>>(new Map());
  const may = useHasRole("operator");
  const query = parseQuery(values);
  useListKeys("data-row", nowhere);
  const clear = () =>
    change({ status: undefined, mode: undefined, automation: undefined, trigger: undefined });
  const choose = (run: RunSummary, on: boolean) =>
    setChosen((before) => {
      const next = new Map(before);
      if (on) next.set(run.id, run);
      else next.delete(run.id);
      return next;
    });
  const path = `/api/v1/runs?${new URLSearchParams(query as Record<string, string>)}`;
  return (
    <>
      <PageHead
        title={t.runs.runs}
        sub={t.runs.allRunsNewestFirst}
        right={
          <CopyAs
            operations={[{ label: t.runs.listRuns, operation: { method: "GET", path } }]}
          />
        }
      />
      <Group gap="xs" mb="md">
        <AutomationPick
          value={query.automation_id ?? undefined}
          onChange={(automation) => change({ automation })}
        />
        <Pick
          values={values}
          change={change}
          name="status"
          label={t.runs.anyStatus}
          choices={STATUSES}
        />
        <Pick
          values={values}
          change={change}
          name="mode"
          label={t.runs.anyMode}
          choices={MODES}
        />
      </Group>
      <BulkReplay runs={[...chosen.values()]} clear={() => setChosen(new Map())} />
      <RunList
        query={query}
        named
        none={<NoRuns narrowed={Object.keys(query).length > 0} clear={clear} />}
        choosing={may ? { chosen: new Set(chosen.keys()), choose } : undefined}
      />
    </>
  );
}
