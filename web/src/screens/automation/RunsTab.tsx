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
          label="Any status"
          choices={STATUSES}
        />
        <Pick
          values={values}
          change={change}
          name="mode"
          label="Any kind"
          choices={MODES}
        />
      </Group>
      <RunList
        query={query}
        none={
          <Empty
            icon={Activity}
            title={narrowed ? "No run of it is like that" : "It has not run yet"}
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
                  Show all of its runs
                </Button>
              )
              : null}
          >
            {narrowed ? "" : "Run it now to see what it would do: a dry run changes nothing."}
          </Empty>
        }
      />
    </>
  );
}
