// A text field for templates, with pickers for earlier outputs and filters.

import {
  ActionIcon,
  Button,
  Group,
  Popover,
  ScrollArea,
  Stack,
  Text,
  Tooltip,
} from "@mantine/core";
import { Braces, Filter as FilterIcon } from "lucide-react";
import { memo, type RefObject, useRef, useState } from "react";
import { TemplateEditor } from "../code";
import type { Filter } from "../code/completion";
import type { TemplateHandle } from "../code/Template";
import { useFormContext } from "./formContext";
import { type FieldProps, Frame, useField } from "./Frame";
import { Outputs } from "./Outputs";
import { scopeAt } from "./scope";
import type { Schema } from "./values";
import { escapeInvisible } from "../kit/format";
import { t } from "../strings";

const NOTHING_ALLOWED = { filters: [], tests: [] };

/** The names in scope at a pointer, computed on demand. */
export function useNames(field: Pick<FieldProps, "at" | "schema">) {
  const form = useFormContext();
  const takesSecrets = field.schema["x-mainspring-scope"] === "secret";
  return () =>
    form.vocabulary
      ? scopeAt({
        document: form.current(),
        pointer: field.at,
        outputs: form.vocabulary.outputs,
        samples: form.samples(),
        secrets: takesSecrets ? form.secrets() : undefined,
      })
      : [];
}

function Filters(
  { filters, onPick, label }: { filters: Filter[]; onPick: (one: Filter) => void; label: string },
) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      shadow="md"
      width={320}
      trapFocus
    >
      <Popover.Target>
        <Tooltip label={t.form.filters}>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={t.form.filtersFor(label)}
            onClick={() => setOpen(!isOpen)}
          >
            <FilterIcon size={14} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p={6}>
        <ScrollArea.Autosize mah={280}>
          <Stack gap={0}>
            {filters.map((one) => (
              <Button
                key={one.name}
                variant="subtle"
                color="gray"
                justify="flex-start"
                h="auto"
                py={6}
                onClick={() => {
                  setOpen(false);
                  onPick(one);
                }}
              >
                <Stack gap={0} align="flex-start">
                  <Text size="sm" className="mono">{escapeInvisible(one.name)}</Text>
                  <Text
                    size="xs"
                    c="dimmed"
                    ta="left"
                    style={{ whiteSpace: "normal" }}
                  >
                    {one.description}
                  </Text>
                </Stack>
              </Button>
            ))}
          </Stack>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
}

type InsertMenuProps = {
  at: string;
  schema: Schema;
  title: string;
  handle: RefObject<TemplateHandle | null>;
};

function Earlier({ at, schema, title, handle }: InsertMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const names = useNames({ at, schema });
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      shadow="md"
      width={380}
      trapFocus
    >
      <Popover.Target>
        <Tooltip label={t.form.pickAnEarlierOutput}>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={t.form.pickAnEarlierOutputFor(title)}
            onClick={() => setOpen(!isOpen)}
          >
            <Braces size={14} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p="xs">
        {isOpen
          ? (
            <Outputs
              names={names()}
              onPick={(path) => {
                setOpen(false);
                handle.current?.pick(path);
              }}
            />
          )
          : null}
      </Popover.Dropdown>
    </Popover>
  );
}

/** What can be inserted into a template; memoized while the user types. */
const Offers = memo(function Offers(props: InsertMenuProps) {
  const { vocabulary } = useFormContext();
  return (
    <Group gap={2} wrap="nowrap">
      <Earlier {...props} />
      <Filters
        filters={vocabulary?.allowed.filters ?? NOTHING_ALLOWED.filters}
        label={props.title}
        onPick={(one) => props.handle.current?.filter(one)}
      />
    </Group>
  );
});

export function TemplateField(field: FieldProps & { onPlain?: () => void }) {
  const form = useFormContext();
  const texts = useField(field, true);
  const names = useNames(field);
  const handle = useRef<TemplateHandle>(null);
  const allowed = form.vocabulary?.allowed ?? NOTHING_ALLOWED;
  const bare = field.name === "when";
  const aside = form.readOnly
    ? null
    : <Offers at={field.at} schema={field.schema} title={texts.title} handle={handle} />;
  return (
    <Frame field={field} texts={texts} unlabelled aside={aside}>
      <TemplateEditor
        value={typeof field.value === "string" ? field.value : ""}
        label={texts.title}
        names={names}
        allowed={allowed}
        bare={bare}
        readOnly={form.readOnly}
        describedBy={texts.described}
        isWrong={texts.wrong}
        handle={handle}
        onChange={(next) => form.set(field.at, next === "" && !field.required ? undefined : next)}
      />
    </Frame>
  );
}
