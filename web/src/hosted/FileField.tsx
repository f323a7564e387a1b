// A field that takes a file. Size and type are checked here first; the server checks them again.

import { FileInput } from "@mantine/core";
import { useState } from "react";
import { hintOf, titleOf } from "../form/schema";
import type { Finding, Schema } from "../form/values";
import { t } from "../strings";
import { type FileRule, formatSize } from "./submission";

type Props = {
  name: string;
  schema: Schema;
  rule: FileRule;
  required: boolean;
  file: File | null;
  findings: Finding[];
  onChange: (file: File | null) => void;
};

export function FileField({ name, schema, rule, required, file, findings, onChange }: Props) {
  const [refused, setRefused] = useState<string | null>(null);
  const most = t.hosted.atMostBytes(formatSize(rule.max_bytes));
  const choose = (chosen: File | null) => {
    const isTooLarge = chosen !== null && chosen.size > rule.max_bytes;
    setRefused(isTooLarge ? most : null);
    onChange(isTooLarge ? null : chosen);
  };
  const hint = hintOf(schema);
  return (
    <FileInput
      label={titleOf(name, schema)}
      description={hint ? `${hint} ${most}` : most}
      accept={rule.types.join(",") || undefined}
      required={required}
      clearable
      clearButtonProps={{ "aria-label": t.hosted.removeTheFile }}
      value={file}
      placeholder={t.hosted.chooseAFile}
      error={refused ?? findings[0]?.detail}
      onChange={choose}
    />
  );
}
