// The codex: recipes to choose from, what is installed, and what can still be brought back.

import { arrive, ask, byId, isAtLeast, onPress } from "./page.js";
import { el, link, tell } from "./parts.js";
import { away, moment } from "./words.js";
import { showRecipe } from "./recipe.js";
import { rehearseInto } from "./rehearsal.js";

let who;

const KINDS = {
  automation: "automation", board: "board", integration: "integration", workflow: "workflow", bundle: "bundle",
};

const wanted = () => decodeURIComponent(location.pathname.split("/")[2] || "");
const timed = (text) => el("time", { datetime: text, title: moment(text) }, away(text));
const address = (slug) => `/codex/${encodeURIComponent(slug)}`;

function standing(one) {
  if (one.update_available) return el("span", { class: "badge busy" }, "update available");
  return one.installed > 0 ? el("span", { class: "badge good" }, "installed") : "";
}

function recipeRow(one) {
  return el(
    "li",
    {},
    el("div", { class: "named" }, link(address(one.slug), one.name), el("span", { class: "goal soft" }, one.description_excerpt)),
    el("div", {}, KINDS[one.kind]),
    el("div", { class: "soft" }, one.category || "", el("span", { class: "line" }, one.tags.join(", "))),
    el("div", { class: "soft" }, standing(one), el("span", { class: "line" }, `${one.version} by ${one.author}`)),
  );
}

// The categories are those that there are, told once, when nothing is left out.
let offered = false;
function offerCategories(recipes) {
  if (offered) return;
  offered = true;
  const names = [...new Set(recipes.map((one) => one.category).filter(Boolean))].sort();
  byId("category").append(...names.map((name) => el("option", { value: name }, name)));
}

async function fillRecipes() {
  const asked = new URLSearchParams({ limit: "100" });
  if (byId("words").value.trim()) asked.set("search", byId("words").value.trim());
  for (const id of ["kind", "category"]) if (byId(id).value) asked.set(id, byId(id).value);
  const { recipes } = await ask("GET", `/recipes?${asked}`);
  if ([...asked].length === 1) offerCategories(recipes);
  byId("recipes").replaceChildren(...recipes.map(recipeRow));
  byId("no-recipes").hidden = recipes.length > 0;
}

const named = (one) =>
  one.kind === "automation" ? link(`/automations/${one.id}`, one.name) : el("strong", {}, one.name);

const CHANGES = { added: "is new", removed: "goes", changed: "changes", reordered: "is in another order" };
const changed = (each) => (each.was === undefined ? ` ${CHANGES[each.change]}` : `: ${each.was} → ${each.becomes}`);
const placed = (all) => all.map((each) => el("li", {}, el("code", {}, each.place || "all of it"), changed(each)));
const some = (title, held) => (held.length ? [el("p", {}, title), el("ul", {}, ...held)] : []);

// What would change is shown before anything does.
function said({ change_summary: what, asks_for: asks }) {
  return [
    ...some("The newer version:", placed(what.recipe)),
    ...some("It also installs:", what.new_dependencies.map((slug) => el("li", {}, slug))),
    ...some("It gives these datasets up; they stay:", what.orphaned_datasets.map((name) => el("li", {}, name))),
    ...some("It asks for more than before, and waits for your consent:", asks.map((each) => el("li", {}, each.says))),
    ...some("You have changed this yourself, and an upgrade throws it away:", placed(what.yours)),
  ];
}

function upgrading(one, place) {
  const button = el("button", { type: "button", class: "second" }, "See the upgrade");
  onPress(button, async () => {
    const check = await ask("GET", `/installs/${one.id}/upgrade?entity_kind=${one.kind}`);
    const words = check.has_user_changes ? "Upgrade and throw away my changes" : `Upgrade to ${check.latest}`;
    const go = el("button", { type: "button" }, words);
    onPress(go, async () => {
      const made = await ask("POST", `/installs/${one.id}/upgrade`, {
        entity_kind: one.kind, force: check.has_user_changes,
      });
      await show();
      const waits = (made.asks_for || []).length > 0;
      tell(`${made.name} is version ${made.upgraded_to_version} now${waits ? ", and waits for your consent" : ""}.`);
    });
    place.replaceChildren(...said(check), el("div", { class: "deeds" }, go, rehearsing(one, check)), el("div"));
  });
  return button;
}

// What the newer version would have done with what came in before, before it is in force.
function rehearsing(one, { definition }) {
  if (!definition) return "";
  const button = el("button", { type: "button", class: "second" }, "Rehearse on the last 5 firings");
  const into = () => button.parentElement.nextElementSibling;
  onPress(button, () => rehearseInto(into(), one.id, { candidate: { definition } }));
  return button;
}

// What goes and who uses it is shown first; closing the box in any other way means no.
function sure(one, leaving, users) {
  const box = byId("sure-dialog");
  byId("sure-title").textContent = `Uninstall ${one.name}?`;
  const also = leaving.filter((each) => each.id !== one.id);
  byId("sure-says").replaceChildren(
    el("p", {}, "It stops at once, and can be recovered for seven days."),
    ...some("These go with it:", also.map((each) => el("li", {}, `${each.name}, ${KINDS[each.kind]}`))),
    ...some("These use it and cannot work without it:", users.map((each) => el("li", {}, `${each.name}, ${KINDS[each.kind]}`))),
  );
  box.returnValue = "";
  return new Promise((answer) => {
    box.addEventListener("close", () => answer(box.returnValue === "yes"), { once: true });
    box.showModal();
  });
}

function uninstalling(one) {
  const button = el("button", { type: "button", class: "second" }, "Uninstall");
  onPress(button, async () => {
    const { uninstalled: leaving, still_needed_by: users = [] } = await ask("DELETE", `/installs/${one.id}?dry_run=true`);
    if (!(await sure(one, leaving, users))) return;
    const { uninstalled } = await ask("DELETE", `/installs/${one.id}`);
    await show();
    tell(uninstalled.length > 1 ? `${uninstalled.length} installs are taken away.` : `${one.name} is taken away.`);
  });
  return button;
}

function installRow(one) {
  const more = el("div", { class: "whole" });
  const own = !one.bundle;
  const version = one.update_available
    ? el("span", { class: "badge busy" }, `update available: ${one.latest_version}`)
    : "";
  const deeds = isAtLeast(who, "editor") && own
    ? el("div", { class: "deeds" }, one.update_available ? upgrading(one, more) : "", uninstalling(one))
    : el("div");
  return el(
    "li",
    {},
    el("div", { class: "named" }, named(one), el("span", { class: "goal soft" }, own ? KINDS[one.kind] : `${KINDS[one.kind]}, comes with ${one.bundle.name}`)),
    el("div", {}, one.source_recipe_version, el("span", { class: "line" }, version)),
    el("div", {}, link(address(one.source_recipe_slug), one.source_recipe_slug)),
    deeds,
    more,
  );
}

function goneRow(one) {
  const button = el("button", { type: "button", class: "second" }, "Recover");
  onPress(button, async () => {
    const back = await ask("POST", `/uninstalled/${one.id}/recover`, {});
    await show();
    tell(`${back.name} is back${back.kind === "automation" ? ", paused" : ""}.`);
  });
  return el(
    "li",
    {},
    el("div", { class: "named" }, el("strong", {}, one.name)),
    el("div", {}, KINDS[one.kind]),
    el("div", { class: "soft" }, "can be recovered until ", timed(one.expires_at)),
    isAtLeast(who, "editor") ? el("div", { class: "deeds" }, button) : el("div"),
  );
}

async function show() {
  const [{ installs }, { uninstalled }] = await Promise.all([
    ask("GET", "/installs"), ask("GET", "/uninstalled"), fillRecipes(),
  ]);
  byId("installs").replaceChildren(...installs.map(installRow));
  byId("installed-part").hidden = !installs.length;
  byId("uninstalled").replaceChildren(...uninstalled.map(goneRow));
  byId("uninstalled-part").hidden = !uninstalled.length;
}

// Whoever types goes on typing: the last wish is the one that is shown.
let typing = 0;
function soon() {
  clearTimeout(typing);
  typing = setTimeout(fillRecipes, 200);
}

await arrive(async (person) => {
  who = person;
  const slug = wanted();
  if (slug) {
    byId("one").hidden = false;
    await showRecipe(byId("one"), who, slug);
    return;
  }
  byId("shelf").hidden = false;
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("words").addEventListener("input", soon);
  for (const id of ["kind", "category"]) byId(id).addEventListener("change", fillRecipes);
  await show();
});
