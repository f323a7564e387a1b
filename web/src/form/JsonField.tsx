// Any value as JSON: for values without a field of their own, or that do not match it. Unparsable
// text is kept as typed.

import { Button, Input } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { TemplateEditor } from "../code";
import { useFormContext } from "./formContext";
import { type FieldProps, Frame, useField } from "./Frame";
import { isEqualJson } from "./pointers";
import { useNames } from "./TemplateField";
import { parseJson, spellJson } from "./text";

const NO_WORDS = { filters: [], tests: [] };
const noNames = () => [];

export function JsonField(made: FieldProps & { onText?: () => void }) {
  const form = useFormContext();
  const words = useField(made, true);
  const names = useNames(made);
  const [text, setText] = useState(() => spellJson(made.value));
  const [problem, setProblem] = useState<string | null>(null);
  const last = useRef(made.value);
  useEffect(() => {
    // An external value; a value typed here already has its text.
    if (!isEqualJson(last.current, made.value)) {
      setText(spellJson(made.value));
      setProblem(null);
    }
    last.current = made.value;
  }, [made.value]);
  useEffect(() => () => form.broken(made.at, null), [form, made.at]);
  const write = (next: string) => {
    setText(next);
    const read = next.trim() ? parseJson(next) : { value: undefined };
    const wrong = "problem" in read ? read.problem : null;
    setProblem(wrong);
    form.broken(made.at, wrong);
    if ("problem" in read) return;
    last.current = read.value;
    form.set(made.at, read.value);
  };
  const asText = made.onText && !form.readOnly
    ? (
      <Button size="compact-xs" variant="subtle" color="gray" onClick={made.onText}>
        As text
      </Button>
    )
    : null;
  return (
    <Frame made={made} words={words} unlabelled removable aside={asText}>
      <TemplateEditor
        value={text}
        label={words.title}
        language="json"
        names={made.templated ? names : noNames}
        allowed={made.templated ? form.vocabulary?.allowed ?? NO_WORDS : NO_WORDS}
        readOnly={form.readOnly}
        describedBy={words.described}
        isWrong={words.wrong || problem !== null}
        hint="JSON"
        onChange={write}
      />
      {problem ? <Input.Error mt={4}>{problem}</Input.Error> : null}
    </Frame>
  );
}
