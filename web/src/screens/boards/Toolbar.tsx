// The toolbar of the table: search and filters on the left, actions on the right.

import { ActionIcon, Button, Group, Modal, TextInput, Tooltip } from "@mantine/core";
import { Download, Info, Plus, RefreshCw, Search, Trash2 } from "lucide-react";
import { useState } from "react";
import { notifyDone, useAction } from "../../kit/useAction";
import { useUrlState } from "../../kit/urlState";
import { exportCsv } from "./csvExport";
import { Filters } from "./Filters";
import { RowForm } from "./RowForm";
import type { Column, Dataset, RowView } from "./rows";
import { t } from "../../strings";

type Props = {
  boardId: string;
  dataset: Dataset;
  columns: Column[];
  look: RowView;
  mayEdit: boolean;
  selected: number;
  add: (rows: Record<string, unknown>[]) => Promise<unknown>;
  remove: () => Promise<unknown>;
  reload: () => Promise<unknown>;
  details: () => void;
};

export function Toolbar(props: Props) {
  const { boardId, dataset, columns, look, mayEdit, selected, add, remove, reload, details } =
    props;
  const [values, change] = useUrlState();
  const [adding, setAdding] = useState(false);
  const { busy, act } = useAction();
  return (
    <Group gap="xs" align="flex-start">
      <TextInput
        aria-label={t.boards.searchRows}
        placeholder={t.boards.searchRows}
        leftSection={<Search size={15} aria-hidden />}
        value={values.q ?? ""}
        onChange={(event) => change({ q: event.currentTarget.value || undefined })}
        style={{ flex: "1 1 12rem", maxWidth: 320 }}
      />
      <Filters columns={columns} filters={look.filters} change={(f) => change({ f })} />
      <Group gap="xs" ml="auto">
        {selected && mayEdit
          ? (
            <Button
              color="red.9"
              variant="light"
              leftSection={<Trash2 size={15} aria-hidden />}
              loading={busy}
              onClick={() => void act(remove)}
            >
              {t.boards.deleteRow(selected)}
            </Button>
          )
          : null}
        <Icon label={t.boards.showTheFullRow} onClick={details} icon={Info} />
        <Icon
          label={t.boards.reloadRows}
          onClick={() => void act(reload)}
          icon={RefreshCw}
        />
        <Export boardId={boardId} dataset={dataset} columns={columns} look={look} />
        {mayEdit
          ? (
            <Button
              leftSection={<Plus size={16} aria-hidden />}
              onClick={() => setAdding(true)}
            >
              {t.boards.addARow}
            </Button>
          )
          : null}
      </Group>
      <Modal opened={adding} onClose={() => setAdding(false)} title={t.boards.newRow} centered>
        <RowForm
          fields={(columns.length ? columns : [FIRST]).map((column) => ({
            column,
            label: column.label,
            required: column.key === dataset.dedupe_key_field,
          }))}
          send={async (row) => {
            await add([row]);
            setAdding(false);
            notifyDone(t.boards.rowAdded);
          }}
        />
      </Modal>
    </Group>
  );
}

// A dataset without columns accepts any key; a first row needs some.
const FIRST: Column = { key: "name", label: t.boards.name2, type: "text" };

type IconProps = { label: string; onClick: () => void; icon: typeof Info };

function Icon({ label, onClick, icon: Shape }: IconProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size={36} aria-label={label} onClick={onClick}>
        <Shape size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

function Export(
  { boardId, dataset, columns, look }: Pick<Props, "boardId" | "dataset" | "columns" | "look">,
) {
  const [share, setShare] = useState<number | null>(null);
  const { act } = useAction();
  const work = async () => {
    setShare(0);
    try {
      await exportCsv(boardId, dataset.name, columns, look, setShare);
    } finally {
      setShare(null);
    }
  };
  return (
    <Button
      variant="default"
      leftSection={<Download size={15} aria-hidden />}
      disabled={share !== null}
      onClick={() => void act(work)}
    >
      {share === null ? "CSV" : `${Math.round(share * 100)} %`}
    </Button>
  );
}
