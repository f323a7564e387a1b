// Extensions shared by all editors: colours, keys, and the CSP nonce for styles.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Annotation, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { styleNonce } from "../api/nonce";

/** Marks a change made by the page and not by the user. */
export const fromOutside = Annotation.define<boolean>();

export const highlight: Extension = syntaxHighlighting(HighlightStyle.define([
  {
    tag: [t.keyword, t.controlKeyword, t.operatorKeyword],
    color: "light-dark(#7c2fd6, #c9a6ff)",
    fontWeight: "600",
  },
  {
    tag: [t.brace, t.meta, t.processingInstruction, t.special(t.brace)],
    color: "light-dark(#95570a, #f0b26b)",
  },
  { tag: [t.variableName, t.propertyName], color: "light-dark(#0a5cad, #7cc0ff)" },
  { tag: [t.string], color: "light-dark(#22692f, #8fd694)" },
  { tag: [t.number, t.bool, t.null], color: "light-dark(#b03a0b, #ffa066)" },
  { tag: t.comment, color: "light-dark(#666c74, #98a0a8)", fontStyle: "italic" },
]));

// A browser that replaces a selection copies its formatting as an inline style, which the content
// security policy blocks. This handler inserts the text instead.
const overSelection: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const text = event.inputType === "insertText" ? event.data : null;
    if (!text || empty || view.composing || view.state.readOnly) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), {
        userEvent: "input.type",
        scrollIntoView: true,
      });
    const taken = view.state.facet(EditorView.inputHandler)
      .some((handle) => handle(view, from, to, text, insert));
    if (!taken) view.dispatch(insert());
    return true;
  },
});

export const ground = (label: string, id?: string): Extension => [
  EditorView.cspNonce.of(styleNonce()),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, ...(id ? { id } : {}) }),
  highlight,
  overSelection,
];
