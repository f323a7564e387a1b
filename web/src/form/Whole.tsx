// A whole definition as a form: what it is, what starts it, what it does, and its bounds.

import { Box, Card, Group, Stack, Text, Title, UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, type ReactNode, useCallback } from "react";
import { useDesk } from "./desk";
import { Field } from "./Field";
import { useFindings } from "./findings";
import { useFold } from "./focus";
import { Said } from "./Frame";
import { Fields } from "./Group";
import { isObject, under } from "./pointers";
import { JsonField } from "./JsonField";
import { settledOnce } from "./schema";
import { StepCards } from "./Steps";
import { Triggers } from "./Triggers";
import type { Schema } from "./values";

const NO_SCHEMA: Schema = {};
const FIRST = ["name", "goal"];
const OWN = [...FIRST, "triggers", "plan", "inputs", "execution", "retention"];
const OTHERS = ["schema_version", "description", "intent", "grants", "writes", "metadata"];
const REST = ["inputs", "execution", "retention"];

type PartProps = {
  title: string;
  words?: string;
  at?: string;
  /** Closed at first; it opens for whoever goes to one of these. */
  folds?: readonly string[];
  children: ReactNode;
};

function Part({ title, words, at, folds, children }: PartProps) {
  const holds = useCallback(
    (wanted: string) =>
      !!folds?.some((one) => wanted === under("", one) || wanted.startsWith(`${under("", one)}/`)),
    [folds],
  );
  const [isOpen, setOpen] = useFold("", folds === undefined, holds);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <Card withBorder radius="lg" p={{ base: "md", sm: "lg" }} style={{ overflow: "visible" }}>
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
      {words ? <Text size="sm" c="dimmed" mt={2}>{words}</Text> : null}
      {at === undefined ? null : <Here at={at} />}
      {isOpen ? <Box mt="md">{children}</Box> : null}
    </Card>
  );
}

const Here = ({ at }: { at: string }) => <Said findings={useFindings(at, false)} />;

/** A list that is none is shown as what it is. */
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
const Plan = memo(({ value }: { value: unknown }) => <StepCards at="/plan" value={value} />);
const Starts = memo(({ value }: { value: unknown }) => <Triggers at="/triggers" value={value} />);

export function Whole({ value }: { value: unknown }) {
  const desk = useDesk();
  const root = desk.vocabulary!.definition;
  const top = settledOnce(root, root);
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
  const field = (name: string) => (
    <Field
      key={name}
      name={name}
      schema={top.properties[name]}
      root={root}
      value={value[name]}
      at={under("", name)}
      required={(top.required ?? []).includes(name)}
      templated={false}
    />
  );
  return (
    <Stack gap="lg">
      <Part title="What it is">
        <Stack gap="md">{FIRST.map(field)}</Stack>
      </Part>
      <Part title="What starts it" at="/triggers">
        {isList(value.triggers)
          ? <Starts value={value.triggers} />
          : <Odd name="triggers" value={value.triggers} />}
      </Part>
      <Part title="What it does" words="Steps run from top to bottom." at="/plan">
        <div data-pointer="/plan">
          {isList(value.plan)
            ? <Plan value={value.plan} />
            : <Odd name="plan" value={value.plan} />}
        </div>
      </Part>
      <Part
        title="Inputs and bounds"
        words="What a run is given, and what it may use at most."
        folds={REST}
      >
        <Stack gap="md">{REST.filter((name) => top.properties[name]).map(field)}</Stack>
      </Part>
      <Part title="The rest" words="Notes, tags and what others should know." folds={OTHERS}>
        <Fields
          schema={top}
          root={root}
          value={value}
          at=""
          templated={false}
          leave={OWN}
        />
      </Part>
    </Stack>
  );
}
