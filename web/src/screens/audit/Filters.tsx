// Filters by action, actor and time. They are kept in the URL.

import { Autocomplete, Button, Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import { api } from "../../api/client";
import { useUrlState } from "../../kit/urlState";
import { KNOWN_ACTIONS } from "./sentences";
import { t } from "../../strings";

const SOON = 300;

export function Filters() {
  const [address, change] = useUrlState();
  const members = api.useQuery("get", "/api/v1/members");
  const [action, setAction] = useState(address.action ?? "");
  const changeSoon = useDebouncedCallback(change, SOON);
  const people = (members.data?.members ?? []).map((one) => ({
    value: one.id,
    label: one.name || one.email,
  }));
  const actor = address.actor;
  const known = !actor || people.some((one) => one.value === actor);
  const some = address.action || actor || address.from || address.to;
  return (
    <Group align="flex-end" gap="sm">
      <Autocomplete
        flex="1 1 12rem"
        label={t.audit.action}
        placeholder={t.audit.anyAction}
        data={[...KNOWN_ACTIONS]}
        limit={30}
        value={action}
        onChange={(value) => {
          setAction(value);
          changeSoon({ action: value || undefined });
        }}
      />
      <Select
        flex="1 1 10rem"
        label={t.audit.actor}
        placeholder={t.audit.anyone}
        clearable
        searchable
        data={known ? people : [...people, { value: actor, label: t.audit.aRunOrAFormer }]}
        value={actor ?? null}
        onChange={(value) => change({ actor: value ?? undefined })}
      />
      <TextInput
        label={t.audit.from}
        type="date"
        value={address.from ?? ""}
        onChange={(event) => change({ from: event.currentTarget.value || undefined })}
      />
      <TextInput
        label={t.audit.to}
        type="date"
        value={address.to ?? ""}
        onChange={(event) => change({ to: event.currentTarget.value || undefined })}
      />
      {some
        ? (
          <Button
            variant="subtle"
            onClick={() => {
              setAction("");
              change({
                action: undefined,
                actor: undefined,
                from: undefined,
                to: undefined,
              });
            }}
          >
            {t.audit.clear}
          </Button>
        )
        : null}
    </Group>
  );
}
