// Plural forms of one language.

/** The plural helpers of a language with the forms "one" and "other", such as English and German. */
export function pluralsOf(locale: string) {
  const rules = new Intl.PluralRules(locale);
  const digits = new Intl.NumberFormat(locale);
  const plural = (number: number, one: string, other: string): string =>
    rules.select(number) === "one" ? one : other;
  /** The number and its noun: "1 run", "1,200 runs". */
  const count = (number: number, one: string, other: string): string =>
    `${digits.format(number)} ${plural(number, one, other)}`;
  return { plural, count };
}
