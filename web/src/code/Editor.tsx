// A code viewer and editor: JSON, TypeScript or plain text.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { fromOutside, ground } from "./baseExtensions";

export type Language = "json" | "typescript" | "text";
export type EditorProps = {
  value: string;
  label: string;
  language: Language;
  onChange?: (value: string) => void;
  readOnly?: boolean;
  id?: string;
  /** The maximum height in pixels; longer text scrolls. */
  most?: number;
  /** Additional CodeMirror extensions; read once at mount. */
  extensions?: Extension;
};

const languages: Record<Language, () => Extension> = {
  json: () => json(),
  typescript: () => javascript({ typescript: true }),
  text: () => [],
};

export default function Editor(props: EditorProps) {
  const { value, label, language, readOnly = false, id, most = 560 } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const emit = useRef(props.onChange);
  const locked = useRef(new Compartment());
  emit.current = props.onChange;
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          ground(label, id),
          languages[language](),
          lineNumbers(),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          locked.current.of(EditorState.readOnly.of(readOnly)),
          EditorView.updateListener.of((update) => {
            const answer = update.transactions.some((one) => one.annotation(fromOutside));
            if (update.docChanged && !answer) emit.current?.(update.state.doc.toString());
          }),
          EditorView.theme({
            ".cm-scroller": { maxHeight: `${most}px`, overflow: "auto" },
          }),
          props.extensions ?? [],
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [language, label, id, most]);
  useEffect(() => {
    view.current?.dispatch({
      effects: locked.current.reconfigure(EditorState.readOnly.of(readOnly)),
    });
  }, [readOnly]);
  useEffect(() => {
    const shown = view.current;
    if (shown && value !== shown.state.doc.toString()) {
      shown.dispatch({
        changes: { from: 0, to: shown.state.doc.length, insert: value },
        annotations: fromOutside.of(true),
      });
    }
  }, [value]);
  return <div ref={host} />;
}
