// A picker for earlier outputs, with sample values of a past run. A click inserts the reference.

import { ActionIcon, Box, Group, ScrollArea, Text, TextInput, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight, Search } from "lucide-react";
import { useState } from "react";
import { formatPath, type Name } from "../code/completion";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

type Pick = (path: string) => void;

const isGroup = (name: string) => ["steps", "inputs", "trigger", "run", "secrets"].includes(name);

/** Lists each output once: under steps, not also under its short name. */
export function pickable(names: Name[]): Name[] {
  const short = new Set(
    (names.find((one) => one.name === "steps")?.inside?.() ?? []).map((one) => one.name),
  );
  const found = names.filter((one) => isGroup(one.name) || !short.has(one.name));
  return found.filter((one) => !isGroup(one.name) || (one.inside?.().length ?? 0) > 0);
}

export function Outputs({ names, onPick }: { names: Name[]; onPick: Pick }) {
  const [search, setWanted] = useState("");
  const shown = pickable(names);
  return (
    <Box>
      <TextInput
        size="xs"
        mb="xs"
        leftSection={<Search size={13} />}
        placeholder={t.form.searchNames}
        aria-label={t.form.searchNames}
        value={search}
        onChange={(event) => setWanted(event.currentTarget.value)}
        data-autofocus
      />
      <ScrollArea.Autosize mah={320}>
        {shown.length
          ? shown.map((one) => (
            <Node
              key={one.name}
              of={one}
              path={[one.name]}
              onPick={onPick}
              search={search.trim().toLowerCase()}
            />
          ))
          : <Text size="sm" c="dimmed" p="xs">{t.form.noEarlierOutputsAddInputs}</Text>}
      </ScrollArea.Autosize>
    </Box>
  );
}

const SEARCHED = 4;
function holds(of: Name, search: string, depth = 0): boolean {
  if (of.name.toLowerCase().includes(search)) return true;
  return depth < SEARCHED && !!of.inside?.().some((one) => holds(one, search, depth + 1));
}

type Props = { of: Name; path: string[]; onPick: Pick; search: string };

function Node({ of, path, onPick, search: wanted }: Props) {
  const [isOpen, setOpen] = useState(path.length <= 1);
  if (wanted && !holds(of, wanted)) return null;
  const open = isOpen || wanted !== "";
  const deeper = wanted && of.name.toLowerCase().includes(wanted) ? "" : wanted;
  const spelt = formatPath(path);
  return (
    <Box pl={path.length > 1 ? 16 : 0}>
      <Group gap={4} wrap="nowrap">
        {of.inside
          ? (
            <ActionIcon
              size="xs"
              variant="subtle"
              color="gray"
              aria-label={`${open ? t.form.close : t.form.open} ${spelt}`}
              aria-expanded={open}
              onClick={() => setOpen(!isOpen)}
            >
              {open ? <ChevronDown size={13} /> : <ChevronRight size={13} />}
            </ActionIcon>
          )
          : <Box w={18} />}
        <UnstyledButton
          className="pick"
          onClick={() => onPick(spelt)}
          aria-label={t.form.insert(spelt)}
          py={3}
          px={4}
          style={{ flex: 1, minWidth: 0 }}
        >
          <Group gap={8} wrap="nowrap">
            <Text size="sm" className="mono">{escapeInvisible(of.name)}</Text>
            {of.about
              ? <Text size="xs" c="dimmed" truncate>{escapeInvisible(of.about)}</Text>
              : null}
          </Group>
        </UnstyledButton>
      </Group>
      {open && of.inside
        ? of.inside().map((one) => (
          <Node
            key={one.name}
            of={one}
            path={[...path, one.name]}
            onPick={onPick}
            search={deeper}
          />
        ))
        : null}
    </Box>
  );
}
