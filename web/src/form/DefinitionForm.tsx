// The complete form of a definition: metadata, triggers, steps and limits.

import { Box, Group, Paper, Stack, Text, Title, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, type ReactNode, useCallback } from "react";
import { useFormContext } from "./formContext";
import { Field } from "./Field";
import { useFindings } from "./findings";
import { useCollapsible } from "./focus";
import { FindingMessages } from "./Frame";
import { Fields } from "./Group";
import { isObject, under } from "./pointers";
import { JsonField } from "./JsonField";
import { resolveSchemaOnce } from "./schema";
import { StepCards } from "./Steps";
import { Triggers } from "./Triggers";
import type { Json, Schema } from "./values";
import { t } from "../strings";

const NO_SCHEMA: Schema = {};
const FIRST = ["name", "goal"];
const OWN = [...FIRST, "triggers", "plan", "inputs", "execution", "retention"];
const OTHERS = ["schema_version", "description", "intent", "grants", "writes", "metadata"];
const REST = ["inputs", "execution", "retention"];

type FormSectionProps = {
  title: string;
  description?: string;
  at?: string;
  /** Collapsed at first; opens when one of its fields is focused. */
  folds?: readonly string[];
  children: ReactNode;
};

function FormSection({ title, description: text, at, folds, children }: FormSectionProps) {
  const holds = useCallback(
    (pointer: string) =>
      !!folds?.some((one) =>
        pointer === under("", one) || pointer.startsWith(`${under("", one)}/`)
      ),
    [folds],
  );
  const [isOpen, setOpen] = useCollapsible("", folds === undefined, holds);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <Paper withBorder radius="lg" className="part">
      <Title order={2} size="h4">
        {folds
          ? (
            <UnstyledButton
              fz="inherit"
              fw="inherit"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              <Group gap={6} component="span">
                <Icon size={16} aria-hidden /> {title}
              </Group>
            </UnstyledButton>
          )
          : title}
      </Title>
      {text ? <Text size="sm" c="dimmed" mt={2}>{text}</Text> : null}
      {at === undefined ? null : <Here at={at} />}
      {isOpen ? <Box mt="md">{children}</Box> : null}
    </Paper>
  );
}

const Here = ({ at }: { at: string }) => <FindingMessages findings={useFindings(at, false)} />;

/** A value that should be a list but is not is shown as JSON. */
const Odd = ({ name, value }: { name: string; value: unknown }) => (
  <Field
    name={name}
    schema={NO_SCHEMA}
    root={NO_SCHEMA}
    value={value}
    at={under("", name)}
    required
    templated={false}
  />
);

const isList = (value: unknown) => value === undefined || Array.isArray(value);

/** The resolved schema of the definition. */
function useTop() {
  const form = useFormContext();
  const root = form.vocabulary!.definition;
  return { root, top: resolveSchemaOnce(root, root) };
}

function OwnFields({ name, value }: { name: string; value: unknown }) {
  const { root, top } = useTop();
  if (!top.properties[name]) return null;
  return (
    <Field
      name={name}
      schema={top.properties[name]}
      root={root}
      value={value}
      at={under("", name)}
      required={(top.required ?? []).includes(name)}
      templated={false}
    />
  );
}

// Each section receives only its own values: a key press in one rerenders none of the others.

const About = memo(({ name, goal }: { name: unknown; goal: unknown }) => (
  <FormSection title={t.form.general}>
    <Stack gap="md">
      <OwnFields name="name" value={name} />
      <OwnFields name="goal" value={goal} />
    </Stack>
  </FormSection>
));

const Starts = memo(({ value }: { value: unknown }) => (
  <FormSection title={t.form.triggers} at="/triggers">
    {isList(value)
      ? <Triggers at="/triggers" value={value} />
      : <Odd name="triggers" value={value} />}
  </FormSection>
));

const Plan = memo(({ value }: { value: unknown }) => (
  <FormSection title={t.form.whatItDoes} description={t.form.stepsRunFromTopTo} at="/plan">
    <div data-pointer="/plan">
      {isList(value) ? <StepCards at="/plan" value={value} /> : <Odd name="plan" value={value} />}
    </div>
  </FormSection>
));

const Bounds = memo((given: { inputs: unknown; execution: unknown; retention: unknown }) => (
  <FormSection
    title={t.form.inputsAndLimits}
    description={t.form.theInputsOfARun}
    folds={REST}
  >
    <Stack gap="md">
      <OwnFields name="inputs" value={given.inputs} />
      <OwnFields name="execution" value={given.execution} />
      <OwnFields name="retention" value={given.retention} />
    </Stack>
  </FormSection>
));

const isRest = (name: string) => !OWN.includes(name);

const Rest = memo(
  function Rest({ value }: { value: Json }) {
    const { root, top } = useTop();
    return (
      <FormSection
        title={t.form.other}
        description={t.form.notesTagsAndMetadata}
        folds={OTHERS}
      >
        <Fields schema={top} root={root} value={value} at="" templated={false} leave={OWN} />
      </FormSection>
    );
  },
  ({ value: one }, { value: other }) => {
    const names = new Set([...Object.keys(one), ...Object.keys(other)].filter(isRest));
    return [...names].every((name) => one[name] === other[name]);
  },
);

export function DefinitionForm({ value }: { value: unknown }) {
  if (!isObject(value)) {
    return (
      <JsonField
        name="definition"
        schema={NO_SCHEMA}
        root={NO_SCHEMA}
        value={value}
        at=""
        required
        templated={false}
      />
    );
  }
  return (
    <Stack gap="lg">
      <About name={value.name} goal={value.goal} />
      <Starts value={value.triggers} />
      <Plan value={value.plan} />
      <Bounds inputs={value.inputs} execution={value.execution} retention={value.retention} />
      <Rest value={value} />
    </Stack>
  );
}
