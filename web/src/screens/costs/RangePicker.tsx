// The date range of the sums; kept in the URL.

import { Badge, CloseButton, Group, SegmentedControl, TextInput } from "@mantine/core";
import { api } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { rangeIn, RANGES } from "./sums";
import { t } from "../../strings";

export function RangePicker() {
  const [address, change] = useUrlState();
  const { from, to } = rangeIn(address);
  const own = Boolean(address.from && address.to);
  return (
    <Group gap="sm" align="flex-end">
      <SegmentedControl
        aria-label={t.costs.days}
        value={own ? "" : RANGES.some((one) => one.value === address.range) ? address.range! : "30"}
        onChange={(range) => change({ range, from: undefined, to: undefined })}
        data={[...RANGES]}
        style={{ maxWidth: "100%", overflowX: "auto" }}
      />
      <TextInput
        label={t.costs.from}
        type="date"
        value={from}
        max={to}
        onChange={(event) =>
          change({ from: event.currentTarget.value || undefined, to, range: undefined })}
      />
      <TextInput
        label={t.costs.to}
        type="date"
        value={to}
        min={from}
        onChange={(event) =>
          change({ to: event.currentTarget.value || undefined, from, range: undefined })}
      />
      <ActiveFilter name="automation" label={<AutomationName id={address.automation} />} />
      <ActiveFilter name="model" label={address.model} />
      <ActiveFilter name="caller" label={address.caller} />
    </Group>
  );
}

function AutomationName({ id }: { id: string | undefined }) {
  const found = api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: id ?? "" } },
  }, { enabled: Boolean(id) });
  return <>{found.data?.name ?? t.costs.oneAutomation}</>;
}

function ActiveFilter({ name, label }: { name: string; label: React.ReactNode }) {
  const [address, change] = useUrlState();
  if (!address[name]) return null;
  return (
    <Badge
      size="lg"
      variant="light"
      tt="none"
      rightSection={
        <CloseButton
          size="xs"
          aria-label={t.costs.removeTheFilterOn(name)}
          onClick={() => change({ [name]: undefined })}
        />
      }
    >
      {name}: {label}
    </Badge>
  );
}
