// Ctrl-K: navigate, run commands, and search by name.

import { createSpotlight, Spotlight, type SpotlightActionGroupData } from "@mantine/spotlight";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { BookOpen, FileText, Plus, Search, Table2, Zap } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { isAtLeast, useHasRole, useSession } from "../api/session";
import { escapeInvisible } from "../kit/format";
import { GROUPS, MORE } from "./navigation";
import { t } from "../strings";

const SOON = 160;
const MOST = 6;

const [store, palette] = createSpotlight();
export const openPalette = palette.open;

export function Palette() {
  const navigate = useNavigate();
  const mayWrite = useHasRole("editor");
  const [query, setQuery] = useState("");
  const { found, pending } = useFound(query.trim());
  const choosing = useChoosing(query, found, pending);
  const go = (to: string) => () => void navigate({ to });
  const who = useSession();
  const places = [...GROUPS.flatMap((group) => group.places), ...MORE].filter((one) =>
    isAtLeast(who, one.least ?? "viewer")
  );
  const begin: SpotlightActionGroupData = {
    group: t.shell.create,
    actions: mayWrite
      ? [
        {
          id: "new",
          label: query ? t.shell.newAutomation2(query) : t.shell.newAutomation,
          description: t.shell.describeItInWords,
          leftSection: <Plus size={18} />,
          keywords: [query, "create", "make"],
          onClick: () => void navigate({ to: "/new", search: query ? { words: query } : {} }),
        },
      ]
      : [],
  };
  const groups: SpotlightActionGroupData[] = [
    {
      group: t.shell.goTo,
      actions: places.map(({ to, label, icon: Icon, description: text }) => ({
        id: to,
        label: t.shell.goTo2(label),
        description: text,
        leftSection: <Icon size={18} />,
        onClick: go(to),
      })),
    },
    {
      group: t.shell.results,
      actions: found.map(({ to, label, description: text, icon: Icon }) => ({
        id: to,
        label: escapeInvisible(label),
        description: text,
        keywords: [query],
        leftSection: <Icon size={18} />,
        onClick: go(to),
      })),
    },
  ];
  // A sentence is a description of an automation; a single word is a search.
  const ordered = query.trim().split(/\s+/).length > 3
    ? [begin, ...groups]
    // Search results may still arrive, and then they come first.
    : pending
    ? groups
    : [...groups, begin];
  return (
    <Spotlight
      store={store}
      actions={ordered.filter((one) => one.actions.length)}
      query={query}
      onQueryChange={setQuery}
      shortcut="mod + K"
      // Also while a field is focused: the shortcut types no character.
      tagsToIgnore={[]}
      triggerOnContentEditable
      nothingFound={pending ? t.shell.searching : t.shell.noResults}
      onSpotlightClose={choosing.forget}
      highlightQuery
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <Search size={18} />,
        placeholder: t.shell.goToCreateFind,
        "aria-label": t.shell.goToCreateOrFind,
        onKeyDown: choosing.press,
      }}
    />
  );
}

const list = () => document.getElementById(store.getState().listId);

/** Selects the first action of the list; the library only does so on typing. */
function selectFirst() {
  const [first] = list()?.querySelectorAll("[data-action]") ?? [];
  list()?.querySelector("[data-selected]")?.removeAttribute("data-selected");
  first?.setAttribute("data-selected", "true");
  store.updateState((state) => ({ ...state, selected: first ? 0 : -1 }));
}

/** Selects the first match, also one that arrives after Enter was pressed. */
function useChoosing(query: string, found: Found[], pending: boolean) {
  const entered = useRef(false);
  const moved = useRef(false);
  const forget = () => {
    entered.current = false;
    moved.current = false;
  };
  useEffect(forget, [query]);
  const shown = found.map((one) => one.to).join();
  useEffect(() => {
    // The previous selection was the first one before these results arrived.
    if (query && !moved.current) selectFirst();
    if (pending || !entered.current) return;
    entered.current = false;
    if (shown) list()?.querySelector<HTMLElement>("[data-selected]")?.click();
  }, [query, shown, pending]);
  const press = ({ key }: KeyboardEvent) => {
    // While an action is selected, Enter runs it and closes the palette.
    if (key === "Enter") entered.current = pending;
    if (key === "ArrowDown" || key === "ArrowUp") moved.current = true;
  };
  return { press, forget };
}

type Found = { to: string; label: string; description: string; icon: typeof Zap };

/** The results for this text; `pending` while they are loading. */
function useFound(text: string): { found: Found[]; pending: boolean } {
  const [search] = useDebouncedValue(text, SOON);
  const enabled = search.length > 1;
  const automations = api.useQuery(
    "get",
    "/api/v1/automations",
    { params: { query: { search, limit: MOST } } },
    { enabled },
  );
  const boards = api.useQuery("get", "/api/v1/boards", {}, { enabled });
  const pages = api.useQuery("get", "/api/v1/search", {
    params: { query: { q: search, limit: MOST } },
  }, {
    enabled: search.length > 2,
  });
  const recipes = api.useQuery(
    "get",
    "/api/v1/recipes",
    { params: { query: { search, limit: MOST } } },
    { enabled },
  );
  const named = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const isLate = search !== text;
  const pending = text.length > 1 &&
    (isLate || [automations, boards, pages, recipes].some((one) => one.isLoading));
  if (!enabled || text.length < 2) return { found: [], pending };
  const found = [
    ...(automations.data?.items ?? []).map((one) => ({
      to: `/automations/${one.id}`,
      label: one.name,
      description: t.shell.automation(one.state),
      icon: Zap,
    })),
    ...(boards.data?.boards ?? []).filter((one) => named(one.name)).slice(0, MOST).map((
      one,
    ) => ({
      to: `/boards/${one.id}`,
      label: one.name,
      description: t.shell.board,
      icon: Table2,
    })),
    ...(recipes.data?.recipes ?? []).map((one) => ({
      to: `/codex/${one.slug}`,
      label: one.name,
      description: t.shell.recipe,
      icon: BookOpen,
    })),
    ...(pages.data?.pages ?? []).map((one) => ({
      to: `/pages/${one.slug}`,
      label: one.title,
      description: t.shell.page,
      icon: FileText,
    })),
  ];
  // Of the results for an earlier text, only those that match this one too.
  return { found: isLate ? found.filter((one) => named(one.label)) : found, pending };
}
