// As whom people sign in at a provider: an admin registers this installation there once.

import { ask, onSubmit } from "./page.js";
import { el } from "./parts.js";
import { capital } from "./words.js";

// What is known of the provider of an integration; null for whoever may not set it.
export async function providerOf(one, isAdmin) {
  if (one.auth !== "oauth" || !isAdmin) return null;
  const { providers } = await ask("GET", "/oauth-clients");
  return providers.find((found) => found.provider === one.oauth_provider) || null;
}

function line(id, name, words, given) {
  return el("div", {}, el("label", { for: id }, words), el("input", { id, name, autocomplete: "off", ...given }));
}

// The form for it, and the address that has to be registered. Open while there is none.
export function clientForm(one, provider, again) {
  const also = provider.integrations.filter((name) => name !== one.name);
  const there = also.length ? capital(provider.provider) : one.label;
  const form = el("form", { "aria-label": `The client of ${there}`, autocomplete: "off" },
    el("p", { class: "problem", role: "alert", hidden: true }),
    line("client-id", "client_id", "Client id", { required: true, maxlength: "500" }),
    line("client-secret", "client_secret", "Client secret", { type: "password", maxlength: "8192" }),
    el("button", { type: "submit", class: provider.has_client ? "second" : "" }, provider.has_client ? "Use this client instead" : "Keep this client"));
  onSubmit(form, async ({ client_id: id, client_secret: secret }) => {
    await ask("PUT", `/oauth-clients/${provider.provider}`, { client_id: id, ...(secret ? { client_secret: secret } : {}) });
    await again(`Everybody here can sign in at ${there} now.`);
  });
  const steps = el("ol", { class: "plan" },
    el("li", {}, `Register this installation as an application at ${there}, with this address to come back to:`,
      el("p", {}, el("code", { class: "address" }, provider.redirect_url))),
    el("li", {}, "Give the client id and the secret that you are shown there."));
  const told = provider.has_client
    ? "A client is set: members of this workspace can sign in."
    : `Nobody can sign in yet: this installation is not known at ${there}. An admin does this once, for all members.`;
  const shared = also.length ? ` The same client serves ${also.join(" and ")}.` : "";
  const inner = [el("p", { class: provider.has_client ? "soft" : "problem" }, told + shared), steps, form];
  const title = `Signing in at ${there}`;
  return provider.has_client
    ? el("section", {}, el("details", {}, el("summary", {}, title), ...inner))
    : el("section", {}, el("h2", {}, title), ...inner);
}
