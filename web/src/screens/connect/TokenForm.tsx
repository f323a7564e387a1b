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
import { t } from "../../strings";

const DAY = 24 * 60 * 60 * 1000;
const ENDS = [
  { value: "30", label: t.connect.in30Days },
  { value: "90", label: t.connect.in90Days },
  { value: "365", label: t.connect.inAYear },
  { value: "", label: t.connect.whenYouRevokeIt },
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
          <Text size="sm">{t.connect.forAClientWithoutOauth}</Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label={t.connect.name}
              placeholder={t.connect.whereItWillBeUsed}
              required
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Select
              label={t.connect.role}
              data={rolesUpTo(who.role)}
              value={role}
              onChange={(chosen) => chosen && setRole(chosen as Role)}
              allowDeselect={false}
            />
            <Select
              label={t.connect.expires}
              data={ENDS}
              value={days}
              onChange={(chosen) => setDays(chosen ?? "90")}
              allowDeselect={false}
            />
          </SimpleGrid>
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group>
            <Button type="submit" loading={busy} leftSection={<KeyRound size={16} />}>
              {t.connect.createToken}
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}

function NewToken({ token, another }: { token: string; another: () => void }) {
  return (
    <Alert
      variant="light"
      color="teal"
      icon={<KeyRound size={16} />}
      title={t.connect.tokenCreated}
    >
      <Stack gap="xs">
        <Text size="sm">{t.connect.itIsFilledInBelow}</Text>
        <Group gap="xs">
          <CopyButton text={token} label={t.connect.copyTheTokenOnly} />
          <Button size="compact-sm" variant="subtle" onClick={another}>
            {t.connect.createAnother}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
