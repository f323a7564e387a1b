// Ids for new steps: short, derived from the action, unique.

/** An unused id for a step. */
export function freshStepId(document: unknown, action: string): string {
  const spelt = JSON.stringify(document) ?? "";
  const stem =
    (action.split(".").at(-1) ?? "step").toLowerCase().replace(/[^a-z0-9_]/g, "_").replace(
      /^[^a-z]+/,
      "",
    ) || "step";
  const isTaken = (name: string) => spelt.includes(`"step_id":"${name}"`);
  for (let at = 1;; at += 1) {
    const name = at === 1 ? stem : `${stem}_${at}`;
    if (!isTaken(name)) return name;
  }
}
