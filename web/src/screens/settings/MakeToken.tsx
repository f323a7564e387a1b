// Creating a token: its name, its permissions and its expiry.

import {
  Alert,
  Button,
  Group,
  MultiSelect,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import { api, client, refresh } from "../../api/client";
import { type Role, rolesUpTo, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { CopyButton } from "../../kit/Copy";
import { useSubmit } from "../../kit/formErrors";
import { ShownOnce } from "./ShownOnce";
import { ROLE_DESCRIPTIONS } from "./roles";
import { RoleSelect } from "./RoleSelect";
import { Section } from "./Section";
import { endsAt, LASTING, tryIt } from "./tokenText";
import { t } from "../../strings";

type TokenOptions = {
  name: string;
  role: Role;
  days: string;
  some: boolean;
  capabilities: string[];
  approving: boolean;
  approves: string[];
};
const FIELDS = ["name", "role", "expires_at", "capabilities", "approves"] as const;

export function MakeToken() {
  const who = useSession();
  const roles = rolesUpTo(who.role);
  const usual: Role = roles.includes("editor") ? "editor" : who.role;
  const fresh: TokenOptions = {
    name: "",
    role: usual,
    days: "90",
    some: false,
    capabilities: [],
    approving: false,
    approves: [],
  };
  const [request, setRequest] = useState(fresh);
  const [made, setMade] = useState<{ name: string; text: string } | null>(null);
  const { busy, refusal, send } = useSubmit(...FIELDS);
  const change = (more: Partial<TokenOptions>) => setRequest((before) => ({ ...before, ...more }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(async () => {
      const { data } = await client.POST("/api/v1/tokens", {
        body: {
          name: request.name,
          role: request.role,
          expires_at: endsAt(request.days),
          capabilities: request.some ? request.capabilities : null,
          approves: request.approving ? request.approves : null,
        },
      });
      setMade({ name: data!.token.name, text: data!.text });
      setRequest(fresh);
      await refresh("/api/v1/tokens");
    });
  };
  return (
    <Section
      title={t.settings.createAToken}
      description={t.settings.forAProgramThatActs}
    >
      <form onSubmit={submit}>
        <Stack>
          {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
          <Group align="flex-start" gap="sm">
            <TextInput
              flex="1 1 14rem"
              label={t.settings.name2}
              placeholder={t.settings.websiteCi}
              required
              maxLength={200}
              autoComplete="off"
              value={request.name}
              onChange={(event) => change({ name: event.currentTarget.value })}
              error={refusal.at("name")}
            />
            <RoleSelect
              w={150}
              label={t.settings.role2}
              roles={roles}
              value={request.role}
              onChange={(role) => change({ role })}
              error={refusal.at("role")}
            />
            <Select
              w={190}
              label={t.settings.expires}
              allowDeselect={false}
              data={LASTING}
              value={request.days}
              onChange={(days) => change({ days: days ?? "90" })}
              error={refusal.at("expires_at")}
            />
          </Group>
          <Text size="sm" c="dimmed">{ROLE_DESCRIPTIONS[request.role]}</Text>
          <Switch
            label={t.settings.limitToSelectedCapabilities}
            checked={request.some}
            onChange={(event) => change({ some: event.currentTarget.checked })}
          />
          {request.some
            ? (
              <Capabilities
                value={request.capabilities}
                onChange={(capabilities) => change({ capabilities })}
                error={refusal.at("capabilities")}
              />
            )
            : null}
          <Switch
            label={t.settings.permissionToApproveWithoutA}
            checked={request.approving}
            onChange={(event) => change({ approving: event.currentTarget.checked })}
          />
          {request.approving
            ? (
              <>
                <Alert color="red" title={t.settings.thisTokenApprovesWithoutA}>
                  {t.settings.aProgramWithThisToken}
                </Alert>
                <Approved
                  value={request.approves}
                  onChange={(approves) => change({ approves })}
                  error={refusal.at("approves")}
                />
              </>
            )
            : null}
          <Group>
            <Button type="submit" loading={busy}>{t.settings.createToken}</Button>
          </Group>
          {made ? <NewToken {...made} onClose={() => setMade(null)} /> : null}
        </Stack>
      </form>
    </Section>
  );
}

type Chosen = { value: string[]; onChange: (value: string[]) => void; error?: string };

function Capabilities({ value, onChange, error }: Chosen) {
  const known = api.useQuery("get", "/api/v1/capabilities", { params: { query: { all: true } } });
  return (
    <MultiSelect
      label={t.settings.allowedCapabilities}
      searchable
      clearable
      required
      placeholder={value.length ? "" : t.settings.searchGetPage}
      data={(known.data?.capabilities ?? []).map((one) => one.id)}
      value={value}
      onChange={onChange}
      error={error}
      limit={50}
      nothingFoundMessage={known.isPending ? t.settings.loading : t.settings.noResults}
    />
  );
}

function Approved({ value, onChange, error }: Chosen) {
  const found = api.useQuery("get", "/api/v1/automations", {
    params: { query: { limit: 100, sort: "last" } },
  });
  return (
    <MultiSelect
      label={t.settings.automationsItCanApprove}
      searchable
      clearable
      required
      data={(found.data?.items ?? []).map((one) => ({ value: one.id, label: one.name }))}
      value={value}
      onChange={onChange}
      error={error}
      limit={50}
      nothingFoundMessage={found.isPending ? t.settings.loading : t.settings.noResults2}
    />
  );
}

function NewToken({ name, text, onClose }: { name: string; text: string; onClose: () => void }) {
  return (
    <ShownOnce
      title={t.settings.theToken(name)}
      description={t.settings.itIsNotShownAgain}
      label={t.settings.theNewToken}
      text={text}
      onClose={onClose}
    >
      <Group gap="xs">
        <Text size="sm">{t.settings.tryIt}</Text>
        <CopyButton text={tryIt(text, location.origin)} label={t.settings.copyAsCurl} />
      </Group>
    </ShownOnce>
  );
}
