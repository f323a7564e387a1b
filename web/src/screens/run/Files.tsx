// The files that a run saved: download, and preview where it is safe.

import { Anchor, Button, Group, Image, Stack, Text } from "@mantine/core";
import { Download, FileText } from "lucide-react";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { Json } from "../../kit/Json";
import { notifyProblem } from "../../kit/useAction";
import { Section } from "./Section";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Shown = Schemas["ArtifactShown"];

// Larger files have no preview.
const MOST = 200_000;
const IMAGES = /^image\/(png|jpe?g|gif|webp)$/;
const TEXTS = /^(text\/|application\/(json|xml|yaml))/;

const contentOf = (file: Shown) => `/api/v1/artifacts/${file.id}/content`;

function size(bytes: number): string {
  if (bytes < 1_000) return t.run.bytes(bytes);
  return bytes < 1_000_000
    ? t.run.kb((bytes / 1_000).toFixed(1))
    : t.run.mb((bytes / 1_000_000).toFixed(1));
}

async function readText(file: Shown): Promise<string> {
  const answer = await fetch(contentOf(file), { credentials: "same-origin" });
  if (!answer.ok) throw new Error(t.run.thisFileIsNoLonger);
  return await answer.text();
}

function One({ file }: { file: Shown }) {
  const [text, setText] = useState<string | null>(null);
  const [seen, setSeen] = useState(false);
  const isImage = IMAGES.test(file.media_type);
  const isText = TEXTS.test(file.media_type) && file.size <= MOST;
  const look = () => {
    setSeen(!seen);
    if (isText && text === null) readText(file).then(setText, notifyProblem);
  };
  return (
    <Stack gap={6}>
      <Group gap="xs" wrap="nowrap">
        <FileText size={15} aria-hidden />
        <Anchor href={contentOf(file)} download size="sm" className="wrap-anywhere">
          {escapeInvisible(file.name)}
        </Anchor>
        <Text size="xs" c="dimmed">{file.media_type} · {size(file.size)}</Text>
        {isImage || isText
          ? (
            <Button
              size="compact-xs"
              variant="subtle"
              onClick={look}
              aria-expanded={seen}
            >
              {seen ? t.run.hide : t.run.show}
            </Button>
          )
          : <Download size={14} aria-hidden />}
      </Group>
      {seen && isImage
        ? <Image src={contentOf(file)} alt={file.name} mah={320} w="auto" fit="contain" />
        : null}
      {seen && text !== null ? <Json value={text} label={file.name} /> : null}
    </Stack>
  );
}

/** The files of a run, or of one of its steps; empty if there are none. */
export function Files({ runId, step }: { runId: string; step?: string }) {
  const query = api.useQuery("get", "/api/v1/runs/{run_id}/artifacts", {
    params: { path: { run_id: runId } },
  });
  const files = (query.data?.items ?? []).filter((one) => !step || one.step === step);
  if (!files.length) return null;
  return (
    <Section title={t.run.files}>
      <Stack gap="xs">{files.map((file) => <One key={file.id} file={file} />)}</Stack>
    </Section>
  );
}
