// Starter requests, and those saved in this workspace; a click puts one into the text box.

import {
  ActionIcon,
  Box,
  Button,
  Card,
  Group,
  SimpleGrid,
  Text,
  TextInput,
  Title,
  UnstyledButton,
} from "@mantine/core";
import { BookmarkPlus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, client, refresh } from "../../api/client";
import { useHasRole } from "../../api/session";
import { notifyDone, useAction } from "../../kit/useAction";
import { useConfirm } from "../../kit/Confirm";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type One = { name: string; text: string };
type Pick = (text: string) => void;

function Starter({ one, pick, forget }: { one: One; pick: Pick; forget?: () => void }) {
  return (
    <Card withBorder radius="md" p={0} component="li" pos="relative">
      <UnstyledButton
        style={{ display: "flex", flexDirection: "column", justifyContent: "flex-start" }}
        p="sm"
        pr={forget ? 44 : "sm"}
        h="100%"
        className="row-link"
        onClick={() => pick(one.text)}
      >
        <Text size="sm" fw={600} component="span" display="block">{escapeInvisible(one.name)}</Text>
        <Text size="sm" c="dimmed" component="span" display="block">{one.text}</Text>
      </UnstyledButton>
      {forget
        ? (
          <ActionIcon
            variant="subtle"
            color="gray"
            pos="absolute"
            top={8}
            right={8}
            aria-label={t.create.delete(one.name)}
            onClick={forget}
          >
            <Trash2 size={15} />
          </ActionIcon>
        )
        : null}
    </Card>
  );
}

function Several({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <Box component="section" aria-label={title}>
      <Title order={2} size="h5" mb="sm">{title}</Title>
      <SimpleGrid
        cols={{ base: 1, sm: 2 }}
        spacing="sm"
        component="ul"
        p={0}
        m={0}
        style={{ listStyle: "none" }}
      >
        {children}
      </SimpleGrid>
    </Box>
  );
}

/** Saves the description under a name, for the whole workspace. */
export function SaveStarter({ text }: { text: string }) {
  const [name, setName] = useState<string | null>(null);
  const { busy, act } = useAction();
  const keep = async (event: FormEvent) => {
    event.preventDefault();
    const kept = await act(async () => {
      await client.PUT("/api/v1/prompts/{prompt}", {
        params: { path: { prompt: name!.trim() } },
        body: { text: text.trim() },
      });
      await refresh("/api/v1/prompts");
    });
    if (!kept) return;
    notifyDone(t.create.savedForEveryoneInThis);
    setName(null);
  };
  if (!text.trim()) return null;
  if (name === null) {
    return (
      <Group>
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<BookmarkPlus size={14} />}
          onClick={() => setName("")}
        >
          {t.create.saveThisDescription}
        </Button>
      </Group>
    );
  }
  return (
    <Group component="form" onSubmit={keep} gap="xs" align="flex-end">
      <TextInput
        label={t.create.nameOfThisDescription}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={200}
        required
        withAsterisk={false}
        autoFocus
        data-autofocus
        onKeyDown={(event) => event.key === "Escape" && setName(null)}
      />
      <Button type="submit" variant="default" loading={busy} disabled={!name.trim()}>
        {t.create.save}
      </Button>
      <Button variant="subtle" color="gray" onClick={() => setName(null)}>{t.create.cancel}</Button>
    </Group>
  );
}

export function Starters({ pick }: { pick: Pick }) {
  const { data } = api.useQuery("get", "/api/v1/prompts");
  const may = useHasRole("editor");
  const confirm = useConfirm();
  const { act } = useAction();
  const forget = async (id: string, name: string) => {
    const message = t.create.itIsDeletedForEveryone;
    if (
      !(await confirm({
        title: t.create.delete2(name),
        message,
        yes: t.create.delete3,
        dangerous: true,
      }))
    ) return;
    await act(async () => {
      await client.DELETE("/api/v1/prompts/{prompt}", { params: { path: { prompt: id } } });
      await refresh("/api/v1/prompts");
    });
  };
  if (!data) return null;
  return (
    <>
      {data.prompts.length
        ? (
          <Several title={t.create.savedDescriptions}>
            {data.prompts.map((one) => (
              <Starter
                key={one.id}
                one={one}
                pick={pick}
                forget={may ? () => void forget(one.id, one.name) : undefined}
              />
            ))}
          </Several>
        )
        : null}
      <Several title={t.create.examples}>
        {data.starters.map((one) => <Starter key={one.name} one={one} pick={pick} />)}
      </Several>
    </>
  );
}
