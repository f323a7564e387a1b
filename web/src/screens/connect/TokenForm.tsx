// Creates a token for a client without OAuth: shown once and put into the snippets.

import {
  Alert,
  Button,
  Card,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { type Role, rolesUpTo, useSession } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { CopyButton } from "../../kit/Copy";

const DAY = 24 * 60 * 60 * 1000;
const ENDS = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "", label: "when it is revoked" },
];

type Props = { token: string | null; onMade: (token: string | null) => void };

export function TokenForm({ token, onMade }: Props) {
  if (token) return <NewToken token={token} another={() => onMade(null)} />;
  return <CreateToken onMade={onMade} />;
}

function CreateToken({ onMade }: Pick<Props, "onMade">) {
  const who = useSession();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [days, setDays] = useState("90");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const ends = days ? new Date(Date.now() + Number(days) * DAY).toISOString() : null;
      const { data } = await client.POST("/api/v1/tokens", {
        body: { name: name.trim(), role, expires_at: ends },
      });
      onMade(data!.text);
      await refresh("/api/v1/tokens");
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <form onSubmit={(event) => void make(event)}>
        <Stack gap="md">
          <Text size="sm">
            For a client without OAuth, or a program that nobody sits in front of. Whoever has the
            token can do what it allows.
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label="Name"
              placeholder="Where it will be used"
              required
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Select
              label="It may do at most what this role may"
              data={rolesUpTo(who.role)}
              value={role}
              onChange={(chosen) => chosen && setRole(chosen as Role)}
              allowDeselect={false}
            />
            <Select
              label="It ends"
              data={ENDS}
              value={days}
              onChange={(chosen) => setDays(chosen ?? "90")}
              allowDeselect={false}
            />
          </SimpleGrid>
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group>
            <Button type="submit" loading={busy} leftSection={<KeyRound size={16} />}>
              Make a token
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}

function NewToken({ token, another }: { token: string; another: () => void }) {
  return (
    <Alert variant="light" color="teal" icon={<KeyRound size={16} />} title="The token is made">
      <Stack gap="xs">
        <Text size="sm">
          It is in the texts below, and shown only now: it cannot be had again once you leave.
        </Text>
        <Group gap="xs">
          <CopyButton text={token} label="Copy the token alone" />
          <Button size="compact-sm" variant="subtle" onClick={another}>
            Make another
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
