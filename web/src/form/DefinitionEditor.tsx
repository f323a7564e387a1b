// A definition as a form, as JSON, or as a diff. Switching the view loses nothing: invalid JSON is
// kept until it is fixed or reverted.

import "./form.css";
import { Alert, Box, Button, Group, SegmentedControl, Skeleton, Stack } from "@mantine/core";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../api/client";
import { CodeEditor, Diff } from "../code";
import { ProblemNote, SlowNote } from "../kit/QueryResult";
import { checkDefinition } from "./check";
import { FormProvider } from "./formContext";
import { FindingList } from "./FindingList";
import { withSectionNames } from "./findings";
import { focusPointer } from "./focus";
import { describePointer, isEqualJson } from "./pointers";
import { parseJson, spellJson } from "./text";
import { useCheck } from "./useCheck";
import type { Finding, Json, Samples } from "./values";
import { useVocabulary, type Vocabulary } from "./vocabulary";
import { DefinitionForm } from "./DefinitionForm";
import { t } from "../strings";

export type DefinitionEditorProps = {
  value: unknown;
  onChange: (next: Json) => void;
  findings?: Finding[];
  samples?: Samples;
  readOnly?: boolean;
  compareWith?: unknown;
  /** Read-first mode: steps are collapsed until opened. */
  folded?: boolean;
  /** The initial field, by its JSON pointer. */
  startAt?: string;
  /** Called with a message while the input cannot be parsed, and with null once it can. */
  onBroken?: (text: string | null) => void;
};

type View = "form" | "json" | "changes";
const NONE: Finding[] = [];

export function DefinitionEditor(props: DefinitionEditorProps) {
  const vocabulary = useVocabulary();
  if (vocabulary.data) return <Editor {...props} vocabulary={vocabulary.data} />;
  if (vocabulary.error) {
    return <ProblemNote problem={vocabulary.error} again={vocabulary.again} />;
  }
  return (
    <Stack gap="sm" aria-busy="true">
      <Skeleton height={38} width={220} />
      <Skeleton height={180} radius="lg" />
      <Skeleton height={320} radius="lg" />
      <SlowNote text={t.form.loadingActions} />
    </Stack>
  );
}

/**
 * The JSON as the user typed it; an external value is serialized again. Not computed while hidden.
 */
function useText(value: unknown, onChange: (next: Json) => void, isSeen: boolean) {
  const [text, setText] = useState("");
  const last = useRef<unknown>(undefined);
  useEffect(() => {
    if (!isSeen) {
      last.current = undefined;
      return;
    }
    if (!isEqualJson(last.current, value)) setText(spellJson(value));
    last.current = value;
  }, [value, isSeen]);
  const read = useMemo(() => (isSeen && text ? parseJson(text) : null), [text, isSeen]);
  const problem = read && "problem" in read ? read.problem : null;
  const write = (next: string) => {
    setText(next);
    const now = parseJson(next);
    if ("problem" in now) return;
    last.current = now.value;
    onChange(now.value as Json);
  };
  const takeBack = () => setText(spellJson(value));
  return { text, problem, write, takeBack };
}

/** Reports unparsable input, of the JSON view or of a form field, to the parent. */
function useBroken(
  value: unknown,
  problem: string | null,
  onBroken?: (text: string | null) => void,
) {
  const [fields, setFields] = useState<ReadonlyMap<string, string>>(new Map());
  const [first] = fields;
  const inField = first ? t.form.at(describePointer(value, first[0]), first[1]) : null;
  const text = problem ?? inField;
  const tell = useRef(onBroken);
  tell.current = onBroken;
  useEffect(() => tell.current?.(text), [text]);
  return { text, at: first?.[0] ?? null, setFields };
}

function Editor(props: DefinitionEditorProps & { vocabulary: Vocabulary }) {
  const { value, onChange, samples, readOnly = false, compareWith, vocabulary } = props;
  const [view, setView] = useState<View>("form");
  const [refused, setRefused] = useState<string | null>(null);
  const json = useText(value, onChange, view === "json");
  const broken = useBroken(value, view === "json" ? json.problem : null, props.onBroken);
  const check = useCallback((now: unknown) => checkDefinition(now, vocabulary), [vocabulary]);
  const answer = useMemo(() => (props.findings ?? NONE).map(withSectionNames), [props.findings]);
  const findings = useCheck(value, readOnly ? null : check, answer);
  useEffect(() => {
    if (!broken.text) setRefused(null);
  }, [broken.text]);
  const { startAt } = props;
  useEffect(() => {
    if (startAt) focusPointer(startAt);
  }, [startAt]);
  const turnNow = (next: View): boolean => {
    if (broken.text && next !== view) {
      setRefused(broken.text);
      if (broken.at) focusPointer(broken.at);
      return false;
    }
    if (next === "json") json.takeBack();
    setView(next);
    return true;
  };
  const latest = useRef(turnNow);
  latest.current = turnNow;
  const turn = useCallback((next: View) => latest.current(next), []);
  const open = (pointer: string) => {
    if (view === "form" || turn("form")) focusPointer(pointer);
  };
  return (
    <Stack gap="md">
      <Views view={view} turn={turn} hasChanges={compareWith !== undefined} />
      {refused
        ? (
          <ParseError
            text={refused}
            onTakeBack={view === "json" ? json.takeBack : undefined}
          />
        )
        : null}
      <FindingList findings={findings} document={value} onOpen={open} />
      {view === "form"
        ? (
          <FormView
            given={props}
            findings={findings}
            samples={samples}
            vocabulary={vocabulary}
            setFields={broken.setFields}
          />
        )
        : null}
      {view === "json" ? <JsonView json={json} readOnly={readOnly} /> : null}
      {view === "changes"
        ? (
          <Diff
            before={spellJson(compareWith)}
            after={spellJson(value)}
            label={t.form.changes}
          />
        )
        : null}
    </Stack>
  );
}

type ViewsProps = { view: View; turn: (next: View) => boolean; hasChanges: boolean };

const Views = memo(
  ({ view, turn, hasChanges }: ViewsProps) => (
    <Group>
      <SegmentedControl
        value={view}
        onChange={(next) => turn(next as View)}
        aria-label={t.form.definitionView}
        data={[
          { value: "form", label: t.form.form },
          { value: "json", label: "JSON" },
          ...(hasChanges ? [{ value: "changes", label: t.form.changes2 }] : []),
        ]}
      />
    </Group>
  ),
);

type FormViewProps = {
  given: DefinitionEditorProps;
  findings: Finding[];
  samples?: Samples;
  vocabulary: Vocabulary;
  setFields: (broken: ReadonlyMap<string, string>) => void;
};

function FormView({ given, findings, samples, vocabulary, setFields }: FormViewProps) {
  const secrets = api.useQuery("get", "/api/v1/secrets", {}, { staleTime: 60_000, retry: false });
  const names = useMemo(() => secrets.data?.secrets.map((one) => one.name) ?? [], [secrets.data]);
  return (
    <FormProvider
      value={given.value}
      onChange={(next) => given.onChange(next as Json)}
      findings={findings}
      samples={samples}
      secrets={names}
      readOnly={given.readOnly ?? false}
      plain={false}
      folded={given.folded}
      vocabulary={vocabulary}
      onBroken={setFields}
    >
      <DefinitionForm value={given.value} />
    </FormProvider>
  );
}

function ParseError({ text, onTakeBack }: { text: string; onTakeBack?: () => void }) {
  return (
    <Alert color="yellow" variant="light" title={t.form.notYet} role="alert">
      {t.form.yourTextStaysHereUntil(text)}
      {onTakeBack
        ? (
          <Box mt="xs">
            <Button size="compact-sm" variant="default" onClick={onTakeBack}>
              {t.form.revertMyText}
            </Button>
          </Box>
        )
        : null}
    </Alert>
  );
}

function JsonView({ json, readOnly }: { json: ReturnType<typeof useText>; readOnly: boolean }) {
  return (
    <Stack gap="xs">
      <CodeEditor
        value={json.text}
        label={t.form.definitionAsJson}
        language="json"
        readOnly={readOnly}
        most={900}
        onChange={json.write}
      />
      {json.problem
        ? <Alert color="red" variant="light" role="status">{json.problem}</Alert>
        : null}
    </Stack>
  );
}
