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
import { escapeInvisible, humanize } from "../../kit/format";
import { Section } from "./Section";
import { t } from "../../strings";

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
      notifyDone(t.settings.fileSavedAsOne(Object.keys(data!.files).length));
    });
  return (
    <Section
      title={t.settings.export}
      description={t.settings.automationsBoardsProjectsAnd}
    >
      <Stack>
        <Switch
          label={t.settings.includeBoardRows}
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
            {t.settings.export2}
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

type Clash = "refuse" | "new_version" | "rename";
type ImportAnswer = Answer<"import_workspace">;

const CLASHES: { value: Clash; label: string }[] = [
  { value: "refuse", label: t.settings.stopWithAnError },
  { value: "new_version", label: t.settings.createANewVersion },
  { value: "rename", label: t.settings.keepBothRenameTheNew },
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
    throw new Error(t.settings.thisIsNotAWorkspace);
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
      notifyDone(t.settings.imported);
      await queries.invalidateQueries();
    });
  const choose = (chosen: File | null) => {
    setFile(chosen);
    setLooked(null);
    forget();
  };
  return (
    <Section
      title={t.settings.import}
      description={t.settings.anExportOfThisOr}
    >
      <Stack>
        <Group align="flex-end" gap="sm">
          <FileInput
            flex="1 1 14rem"
            label={t.settings.exportedFile}
            placeholder={t.settings.chooseAFile}
            accept="application/json,.json"
            clearable
            clearButtonProps={{ "aria-label": t.settings.removeFile }}
            value={file}
            onChange={choose}
          />
          <Select
            w={240}
            label={t.settings.ifANameExistsAlready}
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
            {t.settings.preview}
          </Button>
          {looked?.dry_run
            ? (
              <Button loading={busy} onClick={() => void bring(false)}>
                {t.settings.import}
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
        {taken.dry_run ? t.settings.plannedChanges : t.settings.changes}
      </Text>
      <List size="sm">
        {taken.things.map((one) => (
          <List.Item key={one.path}>
            {escapeInvisible(one.name)} ({one.kind}): {humanize(one.what)}
            {one.renamed_from ? t.settings.from(one.renamed_from) : ""}
          </List.Item>
        ))}
        {taken.rows.map((one) => (
          <List.Item key={one.path + one.dataset}>
            {t.settings.rowAdded(one.board, one.dataset, one.added)}
          </List.Item>
        ))}
        {taken.left.map((one) => <List.Item key={one.path}>{one.path}: {one.why}</List.Item>)}
      </List>
    </Stack>
  );
}
