// A picker for one of possibly thousands of automations, by search; its id is kept in the URL.

import { Select } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Props = { value: string | undefined; onChange: (id: string | undefined) => void };

export function AutomationPick({ value, onChange }: Props) {
  const [text, setText] = useState("");
  const search = text.trim() || undefined;
  const found = api.useQuery("get", "/api/v1/automations", {
    params: { query: { search, limit: 30, sort: "last" } },
  }, { placeholderData: (before) => before });
  const chosen = api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: value ?? "" } },
  }, { enabled: !!value });
  const data = (found.data?.items ?? []).map((one) => ({
    value: one.id,
    label: escapeInvisible(one.name),
  }));
  if (value && !data.some((one) => one.value === value)) {
    data.unshift({ value, label: escapeInvisible(chosen.data?.name ?? "…") });
  }
  return (
    <Select
      aria-label={t.runs.anyAutomation}
      placeholder={t.runs.anyAutomation}
      data={data}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
      searchable
      clearable
      // The server has already searched, including goals.
      filter={({ options }) => options}
      onSearchChange={setText}
      nothingFoundMessage={t.runs.noResults}
      style={{ flex: "1 1 14rem" }}
    />
  );
}
