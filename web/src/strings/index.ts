// The texts of the page in the chosen language.
//
// `t` is set before the application is imported, so module constants may use it too. A change of
// language loads the page again.

import { en } from "./en";
import { type Language, localeOf, readLanguage } from "./language";

export type Strings = typeof en;

export let t: Strings = en;

/** The locale of dates, numbers and money. */
export let locale: string = "en";

const LOADERS: Record<Exclude<Language, "en">, () => Promise<Strings>> = {
  de: () => import("./de").then(({ de }) => de),
};

/** Loads the catalogue of the language in use. English is used if it cannot be loaded. */
export async function loadStrings(): Promise<void> {
  const language = readLanguage();
  if (language !== "en") {
    try {
      t = await LOADERS[language]();
    } catch {
      return;
    }
  }
  locale = localeOf(language, navigator.languages);
  document.documentElement.lang = language;
}
