// The language in use. Its texts are loaded before the application is imported, so module constants
// may use them too. A change of language loads the page again.
//
// English is part of the scripts of the screen that uses it, section by section. Another language
// is one part of its own, which only its readers fetch.

import type { Strings } from ".";
import { type Language, localeOf, readLanguage } from "./language";

/** The locale of dates, numbers and money. */
export let locale: string = "en";

let translation: Partial<Record<string, object>> = {};

const LOADERS: Record<Exclude<Language, "en">, () => Promise<Strings>> = {
  de: () => import("./de").then(({ de }) => de),
};

/** Loads the texts of the language in use. English is used if they cannot be loaded. */
export async function loadStrings(): Promise<void> {
  const language = readLanguage();
  if (language !== "en") {
    try {
      translation = await LOADERS[language]();
    } catch {
      return;
    }
  }
  locale = localeOf(language, navigator.languages);
  document.documentElement.lang = language;
}

/** One section of the catalogue in the language in use. The type is that of the English texts. */
export const translated = <Section extends object>(name: string, english: Section): Section =>
  (translation[name] as Section | undefined) ?? english;
