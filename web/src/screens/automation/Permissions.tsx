// The grants and secrets of an automation: the same list before and after consent.

import { Anchor, Code, List, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { api, type Schemas } from "../../api/client";
import { useSession } from "../../api/session";
import { GrantReach, GrantTitle } from "../../review/GrantText";
import { describeSecret, type Detail, isOwn } from "./automationText";
import { t } from "../../strings";

/** The title of a capability; unknown ones are shown by name. */
export function useCapability(id: string) {
  return api.useQuery("get", "/api/v1/capabilities/{capability_id}", {
    params: { path: { capability_id: id } },
  }, { retry: false, staleTime: 300_000 });
}

type Granted = Schemas["GrantShape"] & Partial<Schemas["DescribedGrant"]>;

export function Grant({ grant }: { grant: Granted }) {
  const { data: known } = useCapability(grant.capability);
  return (
    <Stack gap={2}>
      <Text size="sm">
        <GrantTitle grant={grant} label={known?.label} />
      </Text>
      <Text size="xs" c="dimmed">
        <GrantReach grant={grant} />
      </Text>
    </Stack>
  );
}

/** Only the owner can see which of the secrets exist. */
function useMissing(automation: Detail): Set<string> {
  const who = useSession();
  const mine = automation.created_by === who.user.id && automation.secrets.length > 0;
  const { data } = api.useQuery("get", "/api/v1/secrets", {}, { enabled: mine });
  if (!mine || !data) return new Set();
  const there = new Set(data.secrets.map((one) => one.name));
  return new Set(automation.secrets.map((one) => one.name).filter((name) => !there.has(name)));
}

export function Secrets({ automation }: { automation: Detail }) {
  const missing = useMissing(automation);
  const names = [...new Set(automation.secrets.map((one) => one.name))];
  if (!names.length) return null;
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">{t.automation.secretsOfItsOwner}</Title>
      <List size="sm" spacing={6}>
        {names.map((name) => (
          <List.Item key={name}>
            <Code>{name}</Code>{" "}
            {automation.secrets.filter((one) => one.name === name).map(describeSecret)
              .join("; ")}
            {missing.has(name)
              ? (
                <Text size="sm" c="var(--bad)">
                  {t.automation.itIsMissing(
                    <Anchor
                      component={Link}
                      to={`/secrets?name=${name}`}
                      size="sm"
                      underline="always"
                    >
                      {t.automation.addIt}
                    </Anchor>,
                  )}
                </Text>
              )
              : null}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

export function Permissions({ automation }: { automation: Detail }) {
  const calls = automation.grants.filter((one) => !isOwn(one));
  const own = automation.grants.length > calls.length;
  return (
    <Stack gap="md">
      <Stack gap="sm">
        {calls.map((one, at) => <Grant key={at} grant={one} />)}
        {own ? <Text size="sm">{t.automation.storeItsOwnStateAnd}</Text> : null}
        {calls.length || own
          ? null
          : <Text size="sm">{t.automation.nothingBeyondItsOwnSteps}</Text>}
      </Stack>
      <Secrets automation={automation} />
    </Stack>
  );
}
