// A list whose items can be added, removed, moved and duplicated.

import { ActionIcon, Box, Button, Group, Menu, Stack, Text } from "@mantine/core";
import { ArrowDown, ArrowUp, CopyPlus, EllipsisVertical, Plus, Trash2 } from "lucide-react";
import { memo, useRef } from "react";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { type FieldProps, Frame, useField } from "./Frame";
import { moveItem, under } from "./pointers";
import { initialValue, resolveSchemaOnce } from "./schema";
import { t } from "../strings";

/** The actions on one item of a list. */
export type ItemActions = {
  up?: () => void;
  down?: () => void;
  double: () => void;
  out: () => void;
};

let field = 0;
const freshKey = () => `k${field += 1}`;

/** Stable React keys for the items, and list changes that preserve them. */
export function useItems(at: string, list: readonly unknown[]) {
  const form = useFormContext();
  const keys = useRef<string[]>([]);
  while (keys.current.length < list.length) keys.current.push(freshKey());
  keys.current.length = list.length;
  const change = (
    how: <T>(before: readonly T[], fresh: (at: number) => T) => T[],
    value?: unknown,
  ) => {
    keys.current = how(keys.current, freshKey);
    form.change(at, (now) => {
      const items = Array.isArray(now) ? now : [];
      return how(items, (from) => (from < 0 ? value : structuredClone(items[from])));
    });
  };
  const moves = (place: number): ItemActions => ({
    up: place > 0 ? () => change((before) => moveItem(before, place, place - 1)) : undefined,
    down: place < list.length - 1
      ? () => change((before) => moveItem(before, place, place + 1))
      : undefined,
    double: () => change((before, fresh) => before.toSpliced(place + 1, 0, fresh(place))),
    out: () => change((before) => before.toSpliced(place, 1)),
  });
  const add = (value: unknown) => change((before, fresh) => [...before, fresh(-1)], value);
  return { keys: keys.current, moves, add };
}

type MenuProps = { moves: ItemActions; what: string; at: string };

export const ItemMenu = memo(
  ({ moves, what }: MenuProps) => (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t.form.change(what)}>
          <EllipsisVertical size={15} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<ArrowUp size={14} />}
          disabled={!moves.up}
          onClick={moves.up}
        >
          {t.form.moveUp}
        </Menu.Item>
        <Menu.Item
          leftSection={<ArrowDown size={14} />}
          disabled={!moves.down}
          onClick={moves.down}
        >
          {t.form.moveDown}
        </Menu.Item>
        <Menu.Item leftSection={<CopyPlus size={14} />} onClick={moves.double}>
          {t.form.duplicate}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Trash2 size={14} />} color="red" onClick={moves.out}>
          {t.form.remove3}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  ),
  // A move depends on its index alone; menus are expensive, and a key press rerenders none of them.
  (one, other) =>
    one.at === other.at && one.what === other.what && !one.moves.up === !other.moves.up &&
    !one.moves.down === !other.moves.down,
);

const EMPTY: unknown[] = [];

export function ListField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  const list = (field.value ?? EMPTY) as unknown[];
  const { keys, moves, add } = useItems(field.at, list);
  const items = resolveSchemaOnce(field.schema.items, field.root);
  const full = list.length >= (field.schema.maxItems ?? Infinity);
  return (
    <Frame field={field} texts={texts} unlabelled removable>
      <Stack gap="xs">
        {list.length ? null : <Text size="sm" c="dimmed">{t.form.empty}</Text>}
        {list.map((value, place) => (
          <Group key={keys[place]} gap="xs" wrap="nowrap" align="flex-start">
            <Box style={{ flex: 1, minWidth: 0 }} className="untitled">
              <Field
                name={String(place)}
                schema={withTitle(items, place)}
                root={field.root}
                value={value}
                at={under(field.at, place)}
                required
                templated={field.templated}
              />
            </Box>
            {form.readOnly ? null : (
              <ItemMenu
                moves={moves(place)}
                at={under(field.at, place)}
                what={t.form.itemOf(place + 1, texts.title)}
              />
            )}
          </Group>
        ))}
        {form.readOnly || full ? null : (
          <Box>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Plus size={14} />}
              onClick={() => add(initialValue(items, field.root))}
            >
              {t.form.add}
            </Button>
          </Box>
        )}
      </Stack>
    </Frame>
  );
}

const titles = new WeakMap<object, Map<number, object>>();
/** The item schema with its number as title; memoized, so the object is the same on each render. */
function withTitle(items: Record<string, unknown>, place: number) {
  const known = titles.get(items) ?? new Map<number, object>();
  titles.set(items, known);
  const title = `${typeof items.title === "string" ? items.title : t.form.item} ${place + 1}`;
  const found = known.get(place) ?? { ...items, title };
  known.set(place, found);
  return found as Record<string, unknown>;
}
