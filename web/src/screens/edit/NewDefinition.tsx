// A new automation written by the user: as JSON, or around a script.

import { useUrlState } from "../../kit/urlState";
import { EditorPane } from "./EditorPane";
import { STARTERS } from "./starters";

export function NewDefinition() {
  const [{ from }] = useUrlState();
  const kind = from === "script" ? "script" : "json";
  return <EditorPane key={kind} start={STARTERS[kind]} kind={kind} />;
}
