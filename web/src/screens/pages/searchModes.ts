// The search modes of pages, as text.

export const WAYS = {
  text: "words",
  trigram: "likeness of titles",
  embedding: "meaning",
} as const;
