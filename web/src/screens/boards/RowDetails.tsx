// The details of one row: its full values and its source.

import { Box, Drawer, Group, Stack, Text } from "@mantine/core";
import { CopyIcon } from "../../kit/Copy";
import { Timestamp } from "../../kit/Timestamp";
import { escapeInvisible } from "../../kit/format";
import { formatCell } from "./cells";
import { type Column, describeSource, type Row } from "./rows";
import { t } from "../../strings";

type Props = { row: Row | undefined; columns: Column[]; close: () => void };

export function RowDetails({ row, columns, close }: Props) {
  return (
    <Drawer opened={row !== undefined} onClose={close} position="right" title={t.boards.row}>
      {row
        ? (
          <Stack gap="md">
            {columns.map(({ key, label }) => (
              <Box key={key}>
                <Text size="xs" c="dimmed">{label}</Text>
                <Text
                  size="sm"
                  className="wrap-anywhere"
                  style={{ whiteSpace: "pre-wrap" }}
                >
                  {escapeInvisible(formatCell(row[key])) || "—"}
                </Text>
              </Box>
            ))}
            <Box>
              <Text size="xs" c="dimmed">{t.boards.addedBy}</Text>
              <Text size="sm">{describeSource(row._src)}</Text>
              <Text size="xs" c="dimmed" className="mono wrap-anywhere">
                {row._src}
              </Text>
            </Box>
            <Box>
              <Text size="xs" c="dimmed">{t.boards.lastChanged}</Text>
              <Timestamp at={row._updated_at} />
            </Box>
            <Group gap="xs" wrap="nowrap">
              <Text size="xs" c="dimmed" className="mono wrap-anywhere">
                {row.row_id}
              </Text>
              <CopyIcon text={row.row_id} label={t.boards.copyTheRowId} />
            </Group>
          </Stack>
        )
        : null}
    </Drawer>
  );
}
