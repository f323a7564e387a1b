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
import { t } from "../strings";

const NOTHING_ALLOWED = { filters: [], tests: [] };
const noNames = () => [];

export function JsonField(field: FieldProps & { onText?: () => void }) {
  const form = useFormContext();
  const texts = useField(field, true);
  const names = useNames(field);
  const [text, setText] = useState(() => spellJson(field.value));
  const [problem, setProblem] = useState<string | null>(null);
  const last = useRef(field.value);
  useEffect(() => {
    // An external value; a value typed here already has its text.
    if (!isEqualJson(last.current, field.value)) {
      setText(spellJson(field.value));
      setProblem(null);
    }
    last.current = field.value;
  }, [field.value]);
  useEffect(() => () => form.broken(field.at, null), [form, field.at]);
  const write = (next: string) => {
    setText(next);
    const read = next.trim() ? parseJson(next) : { value: undefined };
    const wrong = "problem" in read ? read.problem : null;
    setProblem(wrong);
    form.broken(field.at, wrong);
    if ("problem" in read) return;
    last.current = read.value;
    form.set(field.at, read.value);
  };
  const asText = field.onText && !form.readOnly
    ? (
      <Button size="compact-xs" variant="subtle" color="gray" onClick={field.onText}>
        {t.form.asText}
      </Button>
    )
    : null;
  return (
    <Frame field={field} texts={texts} unlabelled removable aside={asText}>
      <TemplateEditor
        value={text}
        label={texts.title}
        language="json"
        names={field.templated ? names : noNames}
        allowed={field.templated ? form.vocabulary?.allowed ?? NOTHING_ALLOWED : NOTHING_ALLOWED}
        readOnly={form.readOnly}
        describedBy={texts.described}
        isWrong={texts.wrong || problem !== null}
        hint="JSON"
        onChange={write}
      />
      {problem ? <Input.Error mt={4}>{problem}</Input.Error> : null}
    </Frame>
  );
}
