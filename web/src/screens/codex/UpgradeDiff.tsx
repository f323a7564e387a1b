// The diff between the version in force and that of the upgrade.

import { api } from "../../api/client";
import { Diff } from "../../code";
import { Asked } from "../../kit/QueryResult";
import { ordered } from "./recipes";

type Props = { automationId: string; definition: unknown };

export function UpgradeDiff({ automationId, definition }: Props) {
  const found = api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: automationId } },
  });
  return (
    <Asked of={found} lines={2}>
      {(held) => (
        <Diff
          before={JSON.stringify(ordered(held.definition), null, 2)}
          after={JSON.stringify(ordered(definition), null, 2)}
          label="Differences of the definition"
        />
      )}
    </Asked>
  );
}
