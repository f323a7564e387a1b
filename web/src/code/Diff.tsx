// A unified diff of two texts.

import { json } from "@codemirror/lang-json";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { ground } from "./baseExtensions";

export type DiffProps = {
  before: string;
  after: string;
  label: string;
  language?: "json" | "text";
};

// Few fonts have the usual glyph for collapsed lines.
const dots = EditorView.theme({
  ".cm-collapsedLines": { "&:before": { content: '"…"' }, "&:after": { content: '"…"' } },
});

export default function Diff({ before, after, label, language = "json" }: DiffProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: after,
        extensions: [
          ground(label),
          language === "json" ? json() : [],
          lineNumbers(),
          dots,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({ tabindex: "0" }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            gutter: true,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [before, after, label, language]);
  return <div ref={host} />;
}
