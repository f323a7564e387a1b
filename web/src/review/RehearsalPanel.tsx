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
import { t } from "../strings";

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
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.review.rehearsal}>
      <Title order={2} size="h4">{t.review.rehearse}</Title>
      <Text size="sm" c="dimmed" mb="md">{t.review.seeWhatItWouldDo}</Text>
      <Stack gap="sm">
        <Group gap="sm" align="flex-end">
          <SegmentedControl
            value={over}
            onChange={setOver}
            aria-label={t.review.rehearseWith}
            data={[{ value: "firings", label: t.review.lastFirings }, {
              value: "samples",
              label: t.review.samples,
            }]}
          />
          {over === "firings"
            ? (
              <Select
                aria-label={t.review.numberOfFirings}
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
            {t.review.rehearse2}
          </Button>
        </Group>
        {over === "samples"
          ? (
            <Textarea
              label={t.review.samples}
              description={t.review.jsonAnObjectWithInputs}
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
        {busy && !found ? <SlowNote text={t.review.rehearsing} /> : null}
        {problem ? <ProblemNote problem={problem} again={begin} /> : null}
        {found ? <Firings found={found} /> : null}
      </Stack>
    </Card>
  );
}
