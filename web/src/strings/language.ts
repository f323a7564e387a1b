// The language of the page: the one that was chosen in this browser, otherwise the browser's.

export const LANGUAGES = {
  en: { name: "English" },
  de: { name: "Deutsch" },
} as const;

export type Language = keyof typeof LANGUAGES;

const STORED = "mainspring.language";

const isLanguage = (text: string | null): text is Language => text !== null && text in LANGUAGES;

/** The first supported language of a list such as navigator.languages. */
export function preferredLanguage(preferences: readonly string[]): Language {
  for (const one of preferences) {
    const [language = ""] = one.toLowerCase().split("-");
    if (isLanguage(language)) return language;
  }
  return "en";
}

/** The language that was chosen in this browser; null: the browser's own. */
export function chosenLanguage(): Language | null {
  try {
    const stored = localStorage.getItem(STORED);
    return isLanguage(stored) ? stored : null;
  } catch {
    return null;
  }
}

export const readLanguage = (): Language =>
  chosenLanguage() ?? preferredLanguage(navigator.languages);

/** Stores the choice in this browser and loads the page in that language. */
export function chooseLanguage(language: Language | null): void {
  if (language === null) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, language);
  location.reload();
}

/**
 * The locale of dates and numbers: the browser's variant of the language, such as en-GB, if it has
 * one.
 */
export function localeOf(language: Language, preferences: readonly string[]): string {
  return preferences.find((one) => one.toLowerCase().split("-")[0] === language) ?? language;
}
