// The ways in which pages are found, in words.

export const WAYS = {
  text: "words",
  trigram: "likeness of titles",
  embedding: "meaning",
} as const;
