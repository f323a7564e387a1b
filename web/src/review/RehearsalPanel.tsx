// A rehearsal against past payloads, without saving, writing or sending.

import {
  Button,
  Card,
  Group,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
  Title,
} from "@mantine/core";
import { FlaskConical } from "lucide-react";
import { useEffect, useState } from "react";
import { ProblemNote, SlowNote } from "../kit/QueryResult";
import { Firings } from "./Firings";
import { type Candidate, parseSamples, type Sample, useRehearsal } from "./useRehearsal";

type Props = {
  automationId: string;
  /** The definition to rehearse; default: the version in force. */
  candidate?: Candidate;
  /** False: it has not fired yet, so samples are required. */
  hasFired?: boolean;
  /** Why a rehearsal is not possible now. */
  notYet?: string | null;
};

const MOST = ["1", "3", "5", "10", "20"];
const EXAMPLE = `{ "payload": { "text": "hello" } }`;

export function RehearsalPanel({ automationId, candidate, hasFired = true, notYet }: Props) {
  const { found, problem, busy, rehearse, stop } = useRehearsal(automationId);
  const [over, setOver] = useState(hasFired ? "firings" : "samples");
  const [last, setLast] = useState("5");
  const [text, setText] = useState(EXAMPLE);
  const [wrong, setWrong] = useState<string | null>(null);
  useEffect(() => stop, [stop]);
  const begin = () => {
    if (over === "firings") return void rehearse({ candidate, last: Number(last) });
    const read = parseSamples(text);
    setWrong("wrong" in read ? read.wrong : null);
    if ("samples" in read) void rehearse({ candidate, samples: read.samples as Sample[] });
  };
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label="Rehearsal">
      <Title order={2} size="h4">Rehearse it</Title>
      <Text size="sm" c="dimmed" mb="md">
        See what it would have done with what came in before, with the answers of then. Nothing is
        saved, written or sent.
      </Text>
      <Stack gap="sm">
        <Group gap="sm" align="flex-end">
          <SegmentedControl
            value={over}
            onChange={setOver}
            aria-label="Over what it is rehearsed"
            data={[{ value: "firings", label: "Last firings" }, {
              value: "samples",
              label: "Samples",
            }]}
          />
          {over === "firings"
            ? (
              <Select
                aria-label="How many firings"
                data={MOST}
                value={last}
                onChange={(value) => setLast(value ?? "5")}
                w={84}
                allowDeselect={false}
              />
            )
            : null}
          <Button
            variant="default"
            leftSection={<FlaskConical size={15} />}
            onClick={begin}
            loading={busy}
            disabled={!!notYet}
          >
            Rehearse
          </Button>
        </Group>
        {over === "samples"
          ? (
            <Textarea
              label="Samples"
              description="JSON: an object with inputs, with a payload as a trigger would bring it, or a list of them."
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={wrong}
              autosize
              minRows={3}
              maxRows={14}
              styles={{
                input: {
                  fontFamily: "var(--mantine-font-family-monospace)",
                  fontSize: 13,
                },
              }}
            />
          )
          : null}
        {notYet ? <Text size="sm" c="dimmed">{notYet}</Text> : null}
        {busy && !found ? <SlowNote text="Rehearsing …" /> : null}
        {problem ? <ProblemNote problem={problem} again={begin} /> : null}
        {found ? <Firings found={found} /> : null}
      </Stack>
    </Card>
  );
}
