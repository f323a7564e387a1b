// The search modes of pages, as text.

import { t } from "../../strings";

export const WAYS = {
  text: t.pages.words,
  trigram: t.pages.titleSimilarity,
  embedding: t.pages.meaning,
} as const;
