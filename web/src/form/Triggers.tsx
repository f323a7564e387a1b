// The triggers of an automation: one card each, with the settings of its type.

import { Button, Menu, Stack, Text } from "@mantine/core";
import { CalendarClock, Globe, Plus, Radio, Table2, Zap } from "lucide-react";
import { memo, useState } from "react";
import { capitalize, describeTrigger, escapeInvisible, humanize } from "../kit/format";
import { FoldCard } from "./Cards";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { Fields } from "./Group";
import { type ItemActions, useItems } from "./List";
import { isObject, under } from "./pointers";
import { initialValue, resolveSchemaOnce } from "./schema";
import { Config } from "./Steps";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const NO_SCHEMA: Schema = {};
const EMPTY: unknown[] = [];
const FRONT = ["config"];
const ICONS: Record<string, typeof Zap> = {
  schedule: CalendarClock,
  webhook: Globe,
  event: Radio,
  board_change: Table2,
};

const titleFor = (trigger: Json) =>
  capitalize(
    describeTrigger({
      type: String(trigger.type ?? "unknown"),
      config: isObject(trigger.config) ? trigger.config : {},
    }),
  );

/** The collapsed fields: those with their default values. */
const collapsedKeys = ({ enabled, inputs }: Json): string[] => [
  "type",
  "id",
  ...(enabled === false ? [] : ["enabled"]),
  ...(isObject(inputs) && Object.keys(inputs).length ? [] : ["inputs"]),
];

type CardProps = { trigger: unknown; at: string; moves: ItemActions; openAtFirst: boolean };

const TriggerCard = memo(
  function TriggerCard({ trigger, at, moves, openAtFirst }: CardProps) {
    const form = useFormContext();
    const { definition, triggers } = form.vocabulary!;
    const shape = resolveSchemaOnce(definition.$defs?.Trigger, definition);
    if (!isObject(trigger)) {
      return (
        <Field
          name="trigger"
          schema={NO_SCHEMA}
          root={NO_SCHEMA}
          value={trigger}
          at={at}
          required
          templated={false}
        />
      );
    }
    const word = triggers.get(String(trigger.type));
    const Icon = ICONS[String(trigger.type)] ?? Zap;
    return (
      <FoldCard
        at={at}
        title={titleFor(trigger)}
        sub={word?.title}
        icon={<Icon size={16} aria-hidden className="still" />}
        moves={moves}
        what={t.form.thisTrigger}
        openAtFirst={openAtFirst}
      >
        {() => (
          <Stack gap="md">
            <Config
              key={String(trigger.type)}
              at={under(at, "config")}
              value={trigger.config}
              schema={word?.schema}
              templated={false}
            />
            <Fields
              schema={shape}
              root={definition}
              value={trigger}
              at={at}
              templated={false}
              leave={FRONT}
              tucked={collapsedKeys(trigger)}
              moreLabel={t.form.kindNameAndInputs}
            />
          </Stack>
        )}
      </FoldCard>
    );
  },
  (one, other) =>
    one.trigger === other.trigger && one.at === other.at && !one.moves.up === !other.moves.up &&
    !one.moves.down === !other.moves.down,
);

export function Triggers({ at, value }: { at: string; value: unknown }) {
  const form = useFormContext();
  const list = Array.isArray(value) ? value : EMPTY;
  const { keys, moves, add } = useItems(at, list);
  // The titles describe the schedule; only a new trigger needs input.
  const [atFirst] = useState(list.length);
  const known = [...form.vocabulary!.triggers.values()];
  return (
    <Stack gap="sm" data-pointer={at}>
      {list.length ? null : <Text size="sm" c="dimmed">{t.form.noTriggersItRunsOnly}</Text>}
      {list.map((trigger, place) => (
        <TriggerCard
          key={keys[place]}
          trigger={trigger}
          at={under(at, place)}
          moves={moves(place)}
          openAtFirst={place >= atFirst}
        />
      ))}
      {form.readOnly ? null : (
        <Menu position="bottom-start" shadow="md" width={340}>
          <Menu.Target>
            <Button
              size="compact-md"
              variant="default"
              leftSection={<Plus size={14} />}
              style={{ alignSelf: "flex-start" }}
            >
              {t.form.addATrigger}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {known.map((one) => {
              const Icon = ICONS[one.name] ?? Zap;
              return (
                <Menu.Item
                  key={one.name}
                  leftSection={<Icon size={15} />}
                  onClick={() => add(freshTrigger(one.name, one.schema))}
                >
                  {capitalize(humanize(one.name))}
                  <Text size="xs" c="dimmed">{escapeInvisible(one.title)}</Text>
                </Menu.Item>
              );
            })}
          </Menu.Dropdown>
        </Menu>
      )}
    </Stack>
  );
}

function freshTrigger(type: string, schema: Schema): Json {
  const config = initialValue(schema, schema) as Json;
  if (type === "schedule") {
    return {
      type,
      config: {
        ...config,
        cron: "0 9 * * 1-5",
        timezone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
      },
    };
  }
  return { type, config };
}
