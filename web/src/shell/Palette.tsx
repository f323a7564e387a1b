// Ctrl-K: go anywhere, begin anything, find everything by its name.

import { Spotlight, type SpotlightActionGroupData } from "@mantine/spotlight";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { BookOpen, FileText, Plus, Search, Table2, Zap } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { isAtLeast, useMay, useWho } from "../api/session";
import { GROUPS, MORE } from "./places";

const SOON = 160;
const MOST = 6;

export function Palette() {
  const navigate = useNavigate();
  const mayWrite = useMay("editor");
  const [query, setQuery] = useState("");
  const [search] = useDebouncedValue(query.trim(), SOON);
  const found = useFound(search);
  const go = (to: string) => () => void navigate({ to });
  const who = useWho();
  const places = [...GROUPS.flatMap((group) => group.places), ...MORE].filter((one) =>
    isAtLeast(who, one.least ?? "viewer")
  );
  const begin: SpotlightActionGroupData = {
    group: "Begin",
    actions: mayWrite
      ? [
        {
          id: "new",
          label: query ? `New automation: ${query}` : "New automation",
          description: "Describe it in words",
          leftSection: <Plus size={18} />,
          keywords: [query, "create", "make"],
          onClick: () => void navigate({ to: "/new", search: query ? { words: query } : {} }),
        },
      ]
      : [],
  };
  const groups: SpotlightActionGroupData[] = [
    {
      group: "Go to",
      actions: places.map(({ to, label, icon: Icon, words }) => ({
        id: to,
        label: `Go to ${label}`,
        description: words,
        leftSection: <Icon size={18} />,
        onClick: go(to),
      })),
    },
    {
      group: "Found",
      actions: found.map(({ to, label, words, icon: Icon }) => ({
        id: to,
        label,
        description: words,
        keywords: [query],
        leftSection: <Icon size={18} />,
        onClick: go(to),
      })),
    },
  ];
  // Whoever writes a sentence describes something; whoever writes a word looks for it.
  const ordered = query.trim().split(/\s+/).length > 3 ? [begin, ...groups] : [...groups, begin];
  return (
    <Spotlight
      actions={ordered.filter((one) => one.actions.length)}
      query={query}
      onQueryChange={setQuery}
      shortcut="mod + K"
      // Also while somebody writes in a field: it is no letter that they would miss.
      tagsToIgnore={[]}
      triggerOnContentEditable
      nothingFound="Nothing is called so"
      highlightQuery
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <Search size={18} />,
        placeholder: "Go to, create, find …",
        "aria-label": "Go to, create or find",
      }}
    />
  );
}

type Found = { to: string; label: string; words: string; icon: typeof Zap };

function useFound(search: string): Found[] {
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
  if (!enabled) return [];
  const named = (name: string) => name.toLowerCase().includes(search.toLowerCase());
  return [
    ...(automations.data?.items ?? []).map((one) => ({
      to: `/automations/${one.id}`,
      label: one.name,
      words: `automation, ${one.state}`,
      icon: Zap,
    })),
    ...(boards.data?.boards ?? []).filter((one) => named(one.name)).slice(0, MOST).map((
      one,
    ) => ({
      to: `/boards/${one.id}`,
      label: one.name,
      words: "board",
      icon: Table2,
    })),
    ...(recipes.data?.recipes ?? []).map((one) => ({
      to: `/codex/${one.slug}`,
      label: one.name,
      words: "recipe",
      icon: BookOpen,
    })),
    ...(pages.data?.pages ?? []).map((one) => ({
      to: `/pages/${one.slug}`,
      label: one.title,
      words: "page",
      icon: FileText,
    })),
  ];
}
