// Secrets are write-only. Runs use them by name, at approved hosts.

import { Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { type Held, SecretList } from "./SecretList";
import { type Given, SecretForm } from "./SecretForm";
import { t } from "../../strings";

const OWN = "/api/v1/secrets";
const PUBLISHER = "/api/v1/publisher-secrets";

export default function Secrets() {
  const may = useHasRole("editor");
  const secrets = api.useQuery("get", OWN);
  const [open, { open: show, close }] = useDisclosure(false);
  const [replaced, setReplaced] = useState<Held | null>(null);
  const write = (held: Held | null) => {
    setReplaced(held);
    show();
  };
  const save = async (given: Given) => {
    await client.POST(OWN, { body: given });
    await refresh(OWN);
  };
  const remove = async (name: string) => {
    await client.DELETE("/api/v1/secrets/{name}", { params: { path: { name } } });
    await refresh(OWN);
  };
  const add = may
    ? (
      <Button leftSection={<Plus size={16} />} onClick={() => write(null)}>
        {t.secrets.addASecret}
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title={t.secrets.secrets}
        sub={t.secrets.encryptedWhenYouSaveThem}
        right={
          <>
            <CopyAs
              operations={[{
                label: t.secrets.listSecrets,
                operation: {
                  method: "GET",
                  path: OWN,
                  tool: "automation_secret_list",
                },
              }]}
            />
            {add}
          </>
        }
      />
      <QueryResult of={secrets} lines={3}>
        {({ secrets: held }) =>
          held.length
            ? (
              <SecretList
                held={held}
                onReplace={may ? write : null}
                onRemove={may ? remove : null}
              />
            )
            : (
              <Empty icon={KeyRound} title={t.secrets.noSecretsYet} actions={add}>
                {t.secrets.aDefinitionRefersToA(<code>{"{{ secrets.billing_key }}"}</code>)}
              </Empty>
            )}
      </QueryResult>
      <PublisherSecrets />
      <SecretForm
        opened={open}
        onClose={close}
        replaced={replaced}
        save={save}
        usedNames={secrets.data?.secrets.map((one) => one.name) ?? []}
      />
    </>
  );
}

/** Secrets for the recipes of a publisher; few workspaces have any, so they come last. */
function PublisherSecrets() {
  const may = useHasRole("admin");
  const secrets = api.useQuery("get", PUBLISHER, {}, { enabled: may });
  const [open, { open: show, close }] = useDisclosure(false);
  const [replaced, setReplaced] = useState<Held | null>(null);
  if (!may) return null;
  const save = async (given: Given) => {
    await client.POST(PUBLISHER, { body: given });
    await refresh(PUBLISHER);
  };
  const remove = async (name: string) => {
    await client.DELETE("/api/v1/publisher-secrets/{name}", { params: { path: { name } } });
    await refresh(PUBLISHER);
  };
  const write = (held: Held | null) => {
    setReplaced(held);
    show();
  };
  return (
    <Stack mt="xl" gap="sm">
      <PublisherHead onAdd={() => write(null)} />
      {secrets.data?.secrets.length
        ? <SecretList held={secrets.data.secrets} onReplace={write} onRemove={remove} />
        : <Text size="sm" c="dimmed">{t.secrets.noneInThisWorkspace}</Text>}
      <SecretForm
        opened={open}
        onClose={close}
        replaced={replaced}
        save={save}
        usedNames={secrets.data?.secrets.map((one) => one.name) ?? []}
        capitals
      />
    </Stack>
  );
}

function PublisherHead({ onAdd }: { onAdd: () => void }) {
  return (
    <Stack gap={4} align="flex-start">
      <Text component="h2" fw={650}>{t.secrets.publisherSecrets}</Text>
      <Text size="sm" c="dimmed" maw={640}>
        {t.secrets.aRecipeThatReadsAn(<code>{"{{publisher.NAME}}"}</code>)}
      </Text>
      <Button
        variant="default"
        size="xs"
        mt={6}
        leftSection={<Plus size={14} />}
        onClick={onAdd}
      >
        {t.secrets.addAKey}
      </Button>
    </Stack>
  );
}
