// The runs of one automation, as they happen.

import { Button, Group } from "@mantine/core";
import { Activity } from "lucide-react";
import { useUrlState } from "../../kit/urlState";
import { Empty } from "../../kit/Empty";
import { Pick } from "../automations/Filters";
import { useListKeys } from "../automations/useListKeys";
import { MODES, parseQuery, STATUSES } from "../runs/listQuery";
import { RunList } from "../runs/RunList";
import type { Detail } from "./automationText";
import { t } from "../../strings";

const nowhere = () => null;

export function RunsTab({ automation }: { automation: Detail }) {
  const [values, change] = useUrlState();
  const query = parseQuery(values, automation.id);
  const narrowed = Object.keys(query).length > 1;
  useListKeys("data-row", nowhere);
  return (
    <>
      <Group gap="xs" mb="md">
        <Pick
          values={values}
          change={change}
          name="status"
          label={t.automation.anyStatus}
          choices={STATUSES}
        />
        <Pick
          values={values}
          change={change}
          name="mode"
          label={t.automation.anyMode}
          choices={MODES}
        />
      </Group>
      <RunList
        query={query}
        none={
          <Empty
            icon={Activity}
            title={narrowed ? t.automation.noMatchingRuns : t.automation.noRunsYet}
            actions={narrowed
              ? (
                <Button
                  variant="default"
                  onClick={() =>
                    change({
                      status: undefined,
                      mode: undefined,
                      trigger: undefined,
                    })}
                >
                  {t.automation.showAllRuns}
                </Button>
              )
              : null}
          >
            {narrowed ? "" : t.automation.runItNowToSee}
          </Empty>
        }
      />
    </>
  );
}
