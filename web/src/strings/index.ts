// The texts of the page in the chosen language: t.inbox.title

import type * as en from "./en";

export type Strings = typeof en;

export * as t from "./en";
export { locale } from "./translated";
