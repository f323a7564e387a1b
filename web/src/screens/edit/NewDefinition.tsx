// A new automation written by the user: as JSON, or around a script.

import { useAddress } from "../../kit/urlState";
import { Desk } from "./EditorPane";
import { STARTERS } from "./starters";

export function NewDefinition() {
  const [{ from }] = useAddress();
  const kind = from === "script" ? "script" : "json";
  return <Desk key={kind} start={STARTERS[kind]} kind={kind} />;
}
