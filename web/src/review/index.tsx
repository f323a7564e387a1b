// The review, used by proposals, the editor, recipes and upgrades.

export { ChangePart } from "./ChangePart";
export { Flags } from "./Flags";
export { GrantList, WidenedList } from "./GrantList";
export { Impact, Starts } from "./Impact";
export { Price } from "./Price";
export { RehearsalPanel } from "./RehearsalPanel";
export { Overlaps, Part, ReviewPanel } from "./ReviewPanel";
export type {
  Change,
  Definition,
  Forecast,
  Grant,
  ImpactOf,
  Review,
  ReviewNote,
} from "./reviewText";
export type { Candidate } from "./useRehearsal";
