// Instructions for each known client.

import { Button, Card, List, Stack, Tabs, Text } from "@mantine/core";
import { Plus } from "lucide-react";
import { Json } from "../../kit/Json";
import { type Known, knownClients, type ServerAccess } from "./snippets";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Props = { access: ServerAccess; chosen: string | undefined; onChoose: (id: string) => void };

export function KnownClients({ access: answer, chosen, onChoose }: Props) {
  const clients = knownClients(answer);
  const shown = clients.some((one) => one.id === chosen) ? chosen : clients[0]?.id;
  return (
    <Card withBorder radius="lg" p="lg">
      <Tabs value={shown} onChange={(id) => id && onChoose(id)} keepMounted={false}>
        <Tabs.List aria-label={t.connect.clients}>
          {clients.map((one) => (
            <Tabs.Tab key={one.id} value={one.id}>{escapeInvisible(one.label)}</Tabs.Tab>
          ))}
        </Tabs.List>
        {clients.map((one) => (
          <Tabs.Panel key={one.id} value={one.id} pt="md">
            <Steps of={one} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}

function Steps({ of: known }: { of: Known }) {
  return (
    <Stack gap="md">
      {known.steps.length > 1
        ? (
          <List type="ordered" size="sm" spacing={4}>
            {known.steps.map((text) => <List.Item key={text}>{text}</List.Item>)}
          </List>
        )
        : <Text size="sm">{known.steps[0]}</Text>}
      {known.link
        ? (
          <Button
            component="a"
            href={known.link.href}
            leftSection={<Plus size={16} />}
            style={{ alignSelf: "flex-start" }}
          >
            {escapeInvisible(known.link.label)}
          </Button>
        )
        : null}
      {known.snippets.map((one) => (
        <Stack key={one.title} gap={4}>
          <Text size="xs" fw={600} c="dimmed">{escapeInvisible(one.title)}</Text>
          <Json value={one.text} label={`${known.label}: ${one.title}`} />
        </Stack>
      ))}
      {known.note ? <Text size="sm" c="dimmed">{known.note}</Text> : null}
    </Stack>
  );
}
