// Export and import of the workspace: one bundle, and a preview before importing.

import { Button, FileInput, Group, List, Select, Stack, Switch, Text } from "@mantine/core";
import { Download } from "lucide-react";
import { useState } from "react";
import { type Answer, client, queries } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { notifyDone, useAction } from "../../kit/useAction";
import { download } from "../../kit/download";
import { useSubmit } from "../../kit/formErrors";
import { useSession } from "../../api/session";
import { escapeInvisible, formatCount, humanize } from "../../kit/format";
import { Section } from "./Section";

export function ExportSection() {
  const { workspace } = useSession();
  const [rows, setRows] = useState(false);
  const { busy, act } = useAction();
  const take = () =>
    act(async () => {
      const { data } = await client.GET("/api/v1/workspace/files", {
        params: { query: { rows } },
      });
      download(`${workspace.name}.mainspring.json`, JSON.stringify(data, null, 2));
      notifyDone(`${formatCount(Object.keys(data!.files).length, "file")} saved as one.`);
    });
  return (
    <Section
      title="Take it out"
      description="Automations, boards, workflows and prompts as files, without any secret."
    >
      <Stack>
        <Switch
          label="With the rows of its boards"
          checked={rows}
          onChange={(event) => setRows(event.currentTarget.checked)}
        />
        <Group>
          <Button
            variant="default"
            loading={busy}
            leftSection={<Download size={15} />}
            onClick={() => void take()}
          >
            Export
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

type Clash = "refuse" | "new_version" | "rename";
type ImportAnswer = Answer<"import_workspace">;

const CLASHES: { value: Clash; label: string }[] = [
  { value: "refuse", label: "Stop and say so" },
  { value: "new_version", label: "Make a new version" },
  { value: "rename", label: "Keep both, under another name" },
];

/** The files of an exported bundle; anything else is rejected early. */
async function filesOf(file: File): Promise<Record<string, string>> {
  let read: unknown = null;
  try {
    read = JSON.parse(await file.text());
  } catch {
    // Shown below, with the same text.
  }
  const files = (read as { files?: unknown } | null)?.files;
  if (typeof files !== "object" || files === null) {
    throw new Error("This is not an export of a workspace. Choose the file that Export saved.");
  }
  return files as Record<string, string>;
}

export function ImportSection() {
  const [file, setFile] = useState<File | null>(null);
  const [clash, setClash] = useState<Clash>("refuse");
  const [looked, setLooked] = useState<ImportAnswer | null>(null);
  const { busy, refusal, send, forget } = useSubmit();
  const bring = (dry: boolean) =>
    send(async () => {
      const { data } = await client.POST("/api/v1/workspace/files", {
        body: { files: await filesOf(file!), on_clash: clash, dry_run: dry },
      });
      setLooked(data!);
      if (dry) return;
      notifyDone("It is here.");
      await queries.invalidateQueries();
    });
  const choose = (chosen: File | null) => {
    setFile(chosen);
    setLooked(null);
    forget();
  };
  return (
    <Section
      title="Bring it in"
      description="An export of this or another workspace. You see what would happen before anything does."
    >
      <Stack>
        <Group align="flex-end" gap="sm">
          <FileInput
            flex="1 1 14rem"
            label="Exported file"
            placeholder="Choose a file"
            accept="application/json,.json"
            clearable
            clearButtonProps={{ "aria-label": "Choose no file" }}
            value={file}
            onChange={choose}
          />
          <Select
            w={240}
            label="If something is called the same"
            allowDeselect={false}
            data={CLASHES}
            value={clash}
            onChange={(value) => {
              setClash((value ?? "refuse") as Clash);
              setLooked(null);
            }}
          />
        </Group>
        {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
        {looked ? <ImportResult result={looked} /> : null}
        <Group>
          <Button
            variant="default"
            disabled={!file}
            loading={busy}
            onClick={() => void bring(true)}
          >
            See what would happen
          </Button>
          {looked?.dry_run
            ? (
              <Button loading={busy} onClick={() => void bring(false)}>
                Bring it in
              </Button>
            )
            : null}
        </Group>
      </Stack>
    </Section>
  );
}

function ImportResult({ result: taken }: { result: ImportAnswer }) {
  return (
    <Stack gap="xs" role="status">
      <Text size="sm" fw={600}>
        {taken.dry_run ? "This would happen:" : "This happened:"}
      </Text>
      <List size="sm">
        {taken.things.map((one) => (
          <List.Item key={one.path}>
            {escapeInvisible(one.name)} ({one.kind}): {humanize(one.what)}
            {one.renamed_from ? ` from ${one.renamed_from}` : ""}
          </List.Item>
        ))}
        {taken.rows.map((one) => (
          <List.Item key={one.path + one.dataset}>
            {one.board}, {one.dataset}: {formatCount(one.added, "row")} added
          </List.Item>
        ))}
        {taken.left.map((one) => <List.Item key={one.path}>{one.path}: {one.why}</List.Item>)}
      </List>
    </Stack>
  );
}
