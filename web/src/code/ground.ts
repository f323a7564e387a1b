// What every editor here shares: colours, keys, and styles that the policy of the page allows.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Annotation, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { styleNonce } from "../api/nonce";

/** A text that was put there by the page, and not by the person who writes. */
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

export const ground = (label: string, id?: string): Extension => [
  EditorView.cspNonce.of(styleNonce()),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, ...(id ? { id } : {}) }),
  highlight,
];
