/**
 * The content security policy allows styles with this nonce, which the server writes into the page.
 */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
