/** The page's policy lets styles in that carry this word; the server puts it into the page. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
