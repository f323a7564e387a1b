// The plan of a version as the timeline needs it: the steps, their order and their nesting.

export type PlanStep = {
  id: string;
  action: string;
  description?: string;
  config: Record<string, unknown>;
  nested: PlanStep[];
  /** Runs only when the plan has failed. */
  afterFailure?: boolean;
};

type Given = Record<string, unknown>;

const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function listed(value: unknown): PlanStep[] {
  return Array.isArray(value) ? value.filter(isObject).map(read) : [];
}

function read(given: Given): PlanStep {
  const config = isObject(given.config) ? given.config : {};
  return {
    id: String(given.step_id ?? ""),
    action: String(given.action ?? ""),
    description: typeof given.description === "string" ? given.description : undefined,
    config,
    nested: given.action === "for_each" ? listed(config.steps) : [],
  };
}

/** The steps of a definition, those of on_failure last. */
export function planOf(definition: unknown): PlanStep[] {
  if (!isObject(definition)) return [];
  const execution = isObject(definition.execution) ? definition.execution : {};
  const after = listed(execution.on_failure).map((step) => ({ ...step, afterFailure: true }));
  return [...listed(definition.plan), ...after];
}

/** A step by its id, at any depth. */
export function findStep(plan: PlanStep[], id: string): PlanStep | undefined {
  for (const step of plan) {
    const found = step.id === id ? step : findStep(step.nested, id);
    if (found) return found;
  }
  return undefined;
}
