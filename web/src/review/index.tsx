// The review, used by proposals, the editor, recipes and upgrades.

export { ChangePart } from "./ChangePart";
export { Flags } from "./Flags";
export { GrantList, WidenedList } from "./GrantList";
export { Impact, Wakes } from "./Impact";
export { Price } from "./Price";
export { RehearsalPanel } from "./RehearsalPanel";
export { Overlaps, Part, ReviewPanel } from "./ReviewPanel";
export type { Change, Definition, Forecast, Grant, ImpactOf, Noted, Review } from "./reviewText";
export type { Candidate } from "./useRehearsal";
