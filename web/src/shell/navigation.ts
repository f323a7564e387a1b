// The navigation entries of the menu and the palette.

import {
  Activity,
  Blocks,
  BookOpen,
  ChartColumn,
  Cpu,
  FileText,
  House,
  Inbox,
  KeyRound,
  type LucideIcon,
  Plug,
  ScrollText,
  Settings,
  Table2,
  Unplug,
  Users,
  Workflow,
  Zap,
} from "lucide-react";
import type { Role } from "../api/session";

export type NavigationEntry = {
  to: string;
  label: string;
  icon: LucideIcon;
  words: string;
  /** The minimum role; default: everybody. */
  least?: Role;
};
export type Group = { label: string | null; places: NavigationEntry[] };

export const GROUPS: Group[] = [
  {
    label: null,
    places: [
      { to: "/", label: "Home", icon: House, words: "what waits for you" },
      { to: "/inbox", label: "Inbox", icon: Inbox, words: "drafts, questions and failures" },
      {
        to: "/automations",
        label: "Automations",
        icon: Zap,
        words: "everything that runs by itself",
      },
      {
        to: "/runs",
        label: "Runs",
        icon: Activity,
        words: "what happened, and what happens now",
      },
    ],
  },
  {
    label: "Library",
    places: [
      {
        to: "/codex",
        label: "Codex",
        icon: BookOpen,
        words: "recipes that work as they are",
      },
      {
        to: "/boards",
        label: "Boards",
        icon: Table2,
        words: "rows that people and runs keep",
      },
      {
        to: "/pages",
        label: "Pages",
        icon: FileText,
        words: "what was read, to be found again",
      },
      {
        to: "/workflows",
        label: "Workflows",
        icon: Workflow,
        words: "people, numbers and dates",
      },
    ],
  },
  {
    label: "Connections",
    places: [
      { to: "/integrations", label: "Integrations", icon: Blocks, words: "accounts outside" },
      { to: "/models", label: "Models", icon: Cpu, words: "what agents think with" },
      {
        to: "/secrets",
        label: "Secrets",
        icon: KeyRound,
        words: "written once, never shown",
        least: "editor",
      },
      {
        to: "/connect",
        label: "MCP clients",
        icon: Plug,
        words: "your assistant, connected",
      },
    ],
  },
  {
    label: "House",
    places: [
      {
        to: "/costs",
        label: "Costs",
        icon: ChartColumn,
        words: "by automation, model and day",
      },
      { to: "/audit", label: "Audit log", icon: ScrollText, words: "who did what", least: "admin" },
      {
        to: "/health",
        label: "System health",
        icon: Unplug,
        words: "whether all of it works",
      },
      {
        to: "/settings",
        label: "Settings",
        icon: Settings,
        words: "you, members and tokens",
      },
    ],
  },
];

export const MORE: NavigationEntry[] = [
  { to: "/settings/members", label: "Members", icon: Users, words: "people and their roles" },
  { to: "/settings/tokens", label: "Tokens", icon: KeyRound, words: "for programs" },
];
