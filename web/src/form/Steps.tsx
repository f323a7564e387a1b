// The steps of a plan, including nested steps: each with its action and that action's settings.

import { Alert, Box, Button, Input, Select, Stack, Text } from "@mantine/core";
import { Plus } from "lucide-react";
import { memo, useId, useState } from "react";
import { FoldCard } from "./Cards";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { useFindings } from "./findings";
import { type FieldProps, FindingMessages, Frame, useField } from "./Frame";
import { summarizeStep } from "./stepSummary";
import { Fields } from "./Group";
import { type ItemActions, useItems } from "./List";
import { isObject, under, valueAt } from "./pointers";
import { initialValue, resolveSchemaOnce } from "./schema";
import { freshStepId } from "./stepIds";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const EMPTY: unknown[] = [];
const FEW = 2;
const FRONT = ["action", "config"];
const TUCKED = ["step_id"];

const ActionField = memo(function ActionField({ at, value }: { at: string; value: unknown }) {
  const form = useFormContext();
  const id = useId();
  const findings = useFindings(at, false);
  const known = form.vocabulary?.choices ?? [];
  const name = typeof value === "string" ? value : "";
  const isKnown = !name || form.vocabulary?.actions.has(name);
  const data = isKnown
    ? known
    : [{ group: t.form.unknown, items: [{ value: name, label: name }] }, ...known];
  return (
    <Box data-pointer={at}>
      <Input.Label htmlFor={id} mb={4} required>{t.form.whatTheStepDoes}</Input.Label>
      <Select
        id={id}
        searchable
        allowDeselect={false}
        limit={80}
        data={data}
        value={name || null}
        readOnly={form.readOnly}
        placeholder={t.form.chooseAnAction}
        nothingFoundMessage={t.form.noResults}
        onChange={(next) => next && form.set(at, next)}
      />
      <FindingMessages findings={findings} />
    </Box>
  );
});

function Advice({ step }: { step: Json }) {
  const config = isObject(step.config) ? step.config : {};
  if (step.action !== "agent_task" || config.output_schema !== undefined) return null;
  return (
    <Alert color="yellow" variant="light" p="sm">
      <Text size="sm">{t.form.thisAgentsAnswerHasNo}</Text>
    </Alert>
  );
}

/** The settings of a step or a trigger, by the schema of its action or type. */
export function Config(
  { at, value, schema, templated }: {
    at: string;
    value: unknown;
    schema: Schema | undefined;
    templated: boolean;
  },
) {
  const isKnown = schema && Object.keys(schema.properties ?? {}).length > 0 &&
    (value === undefined || isObject(value));
  if (!isKnown) {
    if (schema?.properties && !Object.keys((value ?? {}) as Json).length) return null;
    return (
      <Field
        name="config"
        schema={NO_SCHEMA}
        root={NO_SCHEMA}
        value={value}
        at={at}
        required={false}
        templated={templated}
      />
    );
  }
  return (
    <div data-pointer={at}>
      <Fields
        schema={schema}
        root={schema}
        value={value ?? NOTHING}
        at={at}
        templated={templated}
        unknownLabel={t.form.notKnownForThisAction}
      />
    </div>
  );
}

const NO_SCHEMA: Schema = {};
const NOTHING: Json = {};

function StepFields({ step, at, shape }: { step: Json; at: string; shape: Schema }) {
  const form = useFormContext();
  const root = form.vocabulary!.definition;
  const action = typeof step.action === "string" ? step.action : "";
  const word = form.vocabulary!.actions.get(action);
  return (
    <Stack gap="md">
      <ActionField at={under(at, "action")} value={step.action} />
      {word ? <Text size="sm" c="dimmed">{word.about}</Text> : null}
      <Advice step={step} />
      <Config
        key={action}
        at={under(at, "config")}
        value={step.config}
        schema={word?.schema}
        templated
      />
      <Fields
        schema={shape}
        root={root}
        value={step}
        at={at}
        templated={false}
        leave={FRONT}
        tucked={TUCKED}
        moreLabel={t.form.nameOrderAndRetries}
      />
    </Stack>
  );
}

const StepSummary = ({ name, text: says }: { name: string; text: string }) => (
  <>
    <span className="mono">{name}</span>
    {says ? ` · ${says}` : ""}
  </>
);

type CardProps = {
  step: unknown;
  at: string;
  place: number;
  moves: ItemActions;
  openAtFirst: boolean;
};

const StepCard = memo(
  function StepCard({ step, at, place, moves, openAtFirst }: CardProps) {
    const form = useFormContext();
    const shape = resolveSchemaOnce(
      form.vocabulary!.definition.$defs?.Step,
      form.vocabulary!.definition,
    );
    if (!isObject(step)) {
      return (
        <Field
          name={at.split("/").at(-1)!}
          schema={NO_SCHEMA}
          root={NO_SCHEMA}
          value={step}
          at={at}
          required
          templated={false}
        />
      );
    }
    const name = typeof step.step_id === "string" ? step.step_id : t.form.unnamedStep;
    const word = form.vocabulary!.actions.get(String(step.action));
    const does = typeof step.description === "string" && step.description
      ? step.description
      : word?.title ?? String(step.action || t.form.stepWithoutAnAction);
    return (
      <FoldCard
        at={at}
        title={does}
        sub={<StepSummary name={name} text={summarizeStep(step, word?.schema)} />}
        icon={<span className="number" aria-hidden>{place + 1}</span>}
        moves={moves}
        what={t.form.step(name)}
        openAtFirst={openAtFirst}
      >
        {() => <StepFields step={step} at={at} shape={shape} />}
      </FoldCard>
    );
  },
  (one, other) =>
    one.step === other.step && one.at === other.at && !one.moves.up === !other.moves.up &&
    !one.moves.down === !other.moves.down,
);

function AddStep({ onAdd }: { onAdd: (action: string) => void }) {
  const form = useFormContext();
  const [isChoosing, choose] = useState(false);
  if (!isChoosing) {
    return (
      <Box>
        <Button
          size="compact-md"
          variant="default"
          leftSection={<Plus size={14} />}
          onClick={() => choose(true)}
        >
          {t.form.addAStep}
        </Button>
      </Box>
    );
  }
  return (
    <Select
      aria-label={t.form.actionOfTheNewStep}
      placeholder={t.form.whatShouldItDo}
      searchable
      autoFocus
      defaultDropdownOpened
      limit={80}
      data={form.vocabulary?.choices}
      value={null}
      onBlur={() => choose(false)}
      nothingFoundMessage={t.form.noResults}
      onChange={(action) => {
        choose(false);
        if (action) onAdd(action);
      }}
    />
  );
}

/** The cards of a list of steps; a list without a frame brings its own. */
export function StepCards({ at, value }: { at: string; value: unknown }) {
  const form = useFormContext();
  const list = Array.isArray(value) ? value : EMPTY;
  const { keys, moves, add } = useItems(at, list);
  const [wereFew] = useState(!form.folded && list.length <= FEW);
  const [added, setAdded] = useState<string | null>(null);
  const addStep = (action: string) => {
    const word = form.vocabulary?.actions.get(action);
    const id = freshStepId(form.current(), action);
    setAdded(id);
    add({
      step_id: id,
      action,
      config: word ? initialValue({ ...word.schema, default: undefined }, word.schema) : {},
    });
  };
  return (
    <Stack gap="sm">
      {list.map((step, place) => (
        <StepCard
          key={keys[place]}
          step={step}
          at={under(at, place)}
          place={place}
          moves={withUniqueIds(moves(place), form, at, place)}
          openAtFirst={wereFew || (isObject(step) && step.step_id === added)}
        />
      ))}
      {form.readOnly ? null : <AddStep onAdd={addStep} />}
    </Stack>
  );
}

/** A duplicated step gets a new id. */
function withUniqueIds(
  moves: ItemActions,
  form: ReturnType<typeof useFormContext>,
  at: string,
  place: number,
): ItemActions {
  return {
    ...moves,
    double: () => {
      moves.double();
      const field = under(at, place + 1);
      const twin = valueAt(form.current(), field);
      if (isObject(twin)) {
        form.set(
          under(field, "step_id"),
          freshStepId(form.current(), String(twin.step_id ?? twin.action)),
        );
      }
    },
  };
}

export function StepsField(field: FieldProps) {
  const form = useFormContext();
  const texts = useField(field);
  if (!form.vocabulary) return null;
  return (
    <Frame field={field} texts={texts} unlabelled removable>
      <StepCards at={field.at} value={field.value} />
    </Frame>
  );
}
