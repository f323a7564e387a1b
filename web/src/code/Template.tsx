// A text editor for templates: highlighting, and completion of the names and filters in scope.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StreamLanguage } from "@codemirror/language";
import { jinja2 } from "@codemirror/legacy-modes/mode/jinja2";
import { json } from "@codemirror/lang-json";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import {
  type Allowed,
  completionsAt,
  type Filter,
  findOvertype,
  insertFilter,
  insertValue,
  type Name,
} from "./completion";
import { fromOutside, ground } from "./baseExtensions";

export type TemplateHandle = {
  pick: (path: string) => void;
  filter: (filter: Filter) => void;
  focus: () => void;
};

export type TemplateProps = {
  value: string;
  label: string;
  onChange: (value: string) => void;
  /** Called when completions are needed, so that it costs nothing before. */
  names: () => Name[];
  allowed: Allowed;
  language?: "jinja" | "json";
  /** A condition, which may also be written without braces. */
  bare?: boolean;
  readOnly?: boolean;
  hint?: string;
  describedBy?: string;
  isWrong?: boolean;
  handle?: Ref<TemplateHandle>;
};

type Live = { current: TemplateProps };

function completionSource(live: Live): Extension {
  const source = (context: CompletionContext) => {
    const { names, allowed, bare = false } = live.current;
    const found = completionsAt(context.state.sliceDoc(0, context.pos), names(), allowed, bare);
    if (!found || !found.offers.length) return null;
    const typed = context.state.sliceDoc(context.pos - 1, context.pos);
    if (!context.explicit && found.from === context.pos && !/[{.|\s%]/.test(typed)) return null;
    return {
      from: found.from,
      validFor: /^\w*$/,
      options: found.offers.map((one) => ({
        label: one.label,
        detail: one.detail,
        type: one.kind === "name" ? "variable" : one.kind === "filter" ? "function" : "keyword",
        apply: one.apply,
      })),
    };
  };
  return autocompletion({ override: [source], icons: false, maxRenderedOptions: 60 });
}

// Typing a character that was inserted automatically moves over it instead of doubling it.
const overtyping = EditorView.inputHandler.of((view, from, to, text) => {
  if (from !== to) return false;
  const { doc } = view.state;
  const over = findOvertype(text, doc.sliceString(0, from), doc.sliceString(to, to + 40));
  if (!over) return false;
  view.dispatch({
    changes: { from, to: from + over.cut },
    selection: { anchor: from + over.go },
    userEvent: "input.type",
  });
  return true;
});

// Two braces insert a placeholder with spaces inside.
const braces = EditorView.inputHandler.of((view, from, to, text) => {
  const before = view.state.sliceDoc(Math.max(0, from - 1), from);
  const after = view.state.sliceDoc(to, to + 1);
  if (text !== "{" || before !== "{" || from !== to) return false;
  const close = after === "}" ? "  }" : "  }}";
  view.dispatch({
    changes: { from, insert: `{${close}` },
    selection: { anchor: from + 2 },
    userEvent: "input.type",
  });
  return true;
});

const described = (props: TemplateProps): Extension =>
  EditorView.contentAttributes.of({
    ...(props.describedBy ? { "aria-describedby": props.describedBy } : {}),
    ...(props.isWrong ? { "aria-invalid": "true" } : {}),
  });

function extensions(live: Live, locked: Compartment, attributes: Compartment): Extension[] {
  const { label, language = "jinja", readOnly = false, hint } = live.current;
  return [
    ground(label),
    language === "json" ? json() : StreamLanguage.define(jinja2),
    history(),
    // Before the bracket-closing extension, which would handle the second brace.
    overtyping,
    braces,
    closeBrackets(),
    completionSource(live),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...defaultKeymap,
      ...historyKeymap,
    ]),
    hint ? placeholder(hint) : [],
    locked.of(EditorState.readOnly.of(readOnly)),
    attributes.of(described(live.current)),
    EditorView.updateListener.of((update) => {
      const answer = update.transactions.some((one) => one.annotation(fromOutside));
      if (update.docChanged && !answer) live.current.onChange(update.state.doc.toString());
    }),
    EditorView.theme({ ".cm-scroller": { maxHeight: "420px", overflow: "auto" } }),
  ];
}

function handleOf(view: { current: EditorView | null }, live: Live): TemplateHandle {
  const put = (make: (text: string, caret: number) => { from: number; insert: string }) => {
    const shown = view.current;
    if (!shown) return;
    const { from, insert } = make(shown.state.doc.toString(), shown.state.selection.main.head);
    shown.dispatch({ changes: { from, insert }, selection: { anchor: from + insert.length } });
    shown.focus();
  };
  return {
    pick: (path) =>
      put((text, caret) => insertValue(text, caret, path, live.current.bare ?? false)),
    filter: (filter) => put((text, caret) => insertFilter(text, caret, filter)),
    focus: () => view.current?.focus(),
  };
}

export default function Template(props: TemplateProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const live = useRef(props);
  const [locked, attributes] = [useRef(new Compartment()), useRef(new Compartment())];
  live.current = props;
  const { value, label, language, readOnly = false, describedBy, isWrong } = props;
  useEffect(() => {
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: live.current.value,
        extensions: extensions(live, locked.current, attributes.current),
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language]);
  useImperativeHandle(props.handle, () => handleOf(view, live), [label, language]);
  useEffect(() => {
    view.current?.dispatch({
      effects: [
        locked.current.reconfigure(EditorState.readOnly.of(readOnly)),
        attributes.current.reconfigure(described(live.current)),
      ],
    });
  }, [readOnly, describedBy, isWrong]);
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
