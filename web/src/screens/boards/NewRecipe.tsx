// Adding a recipe to a link: a read operation, a target dataset and a schedule.

import { Button, Group, Modal, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { sampleText, useLinkKinds } from "./linkKinds";
import type { BoardShown } from "./rows";
import { t } from "../../strings";

type Link = BoardShown["links"][number];
type Props = { link: Link; opened: boolean; close: () => void };

const WHEN = [
  { value: "", label: t.boards.onlyManually },
  { value: "*/15 * * * *", label: t.boards.every15Minutes },
  { value: "0 * * * *", label: t.boards.everyHour },
  { value: "0 6 * * *", label: t.boards.everyDayAt600 },
];

export function NewRecipe({ link, opened, close }: Props) {
  const kinds = useLinkKinds();
  const readings = kinds.find((one) => one.kind === link.kind)?.operations ?? [];
  const [chosen, setOp] = useState<string | null>(null);
  const [dataset, setDataset] = useState("");
  const [cron, setCron] = useState("");
  const [written, setParams] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const op = chosen ?? readings[0]?.id ?? "";
  const params = written ?? sampleText(readings.find((one) => one.id === op)?.sample);

  const fill = async () => {
    const { data } = await client.POST("/api/v1/board-links/{link_id}/recipes", {
      params: { path: { link_id: link.id } },
      body: {
        dataset_name: dataset.trim(),
        adapter_op: op,
        ...(params.trim() ? { params: JSON.parse(params) } : {}),
        refresh_cron: cron || null,
      },
    });
    await refresh("/api/v1/boards");
    close();
    if (!data) return;
    // The recipe was saved; a failed first refresh is shown next to it.
    await client.POST("/api/v1/dataset-recipes/{recipe_id}/refresh", {
      params: { path: { recipe_id: data.id } },
      body: {},
    }).then(() => notifyDone(t.boards.theDatasetIsLinked), () => {});
    await refresh("/api/v1/boards");
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await fill();
    } catch (refused) {
      setProblem(
        refused instanceof SyntaxError ? new Error(t.boards.theSettingsAreNotValid) : refused,
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t.boards.fillADatasetFrom(link.display_name)}
      centered
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          {readings.length
            ? (
              <NativeSelect
                label={t.boards.dataToRead}
                value={op}
                data={readings.map((one) => ({ value: one.id, label: one.label }))}
                onChange={({ currentTarget }) => {
                  setOp(currentTarget.value);
                  setParams(null);
                }}
              />
            )
            : (
              <TextInput
                label={t.boards.dataToRead}
                required
                value={op}
                onChange={(event) => setOp(event.currentTarget.value)}
              />
            )}
          <TextInput
            label={t.boards.dataset}
            description={t.boards.createdIfItDoesNot}
            required
            placeholder="prs"
            value={dataset}
            onChange={(event) => setDataset(event.currentTarget.value)}
          />
          <NativeSelect
            label={t.boards.refresh}
            value={cron}
            data={WHEN}
            onChange={(event) => setCron(event.currentTarget.value)}
          />
          <Textarea
            label={t.boards.settings}
            description={t.boards.asJsonIfTheSource}
            autosize
            minRows={1}
            value={params}
            onChange={(event) => setParams(event.currentTarget.value)}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          />
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.boards.cancel}</Button>
            <Button type="submit" loading={busy}>{t.boards.fillDataset}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
