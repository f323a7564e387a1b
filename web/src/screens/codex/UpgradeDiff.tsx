// The diff between the version in force and that of the upgrade.

import { api } from "../../api/client";
import { Diff } from "../../code";
import { QueryResult } from "../../kit/QueryResult";
import { sortKeys } from "./recipes";
import { t } from "../../strings";

type Props = { automationId: string; definition: unknown };

export function UpgradeDiff({ automationId, definition }: Props) {
  const found = api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: automationId } },
  });
  return (
    <QueryResult of={found} lines={2}>
      {(held) => (
        <Diff
          before={JSON.stringify(sortKeys(held.definition), null, 2)}
          after={JSON.stringify(sortKeys(definition), null, 2)}
          label={t.codex.differencesOfTheDefinition}
        />
      )}
    </QueryResult>
  );
}
