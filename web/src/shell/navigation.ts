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
  description: string;
  /** The minimum role; default: everybody. */
  least?: Role;
};
export type Group = { label: string | null; places: NavigationEntry[] };

export const GROUPS: Group[] = [
  {
    label: null,
    places: [
      { to: "/", label: "Home", icon: House, description: "what waits for you" },
      { to: "/inbox", label: "Inbox", icon: Inbox, description: "drafts, questions and failures" },
      {
        to: "/automations",
        label: "Automations",
        icon: Zap,
        description: "everything that runs by itself",
      },
      {
        to: "/runs",
        label: "Runs",
        icon: Activity,
        description: "what happened, and what happens now",
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
        description: "recipes that work as they are",
      },
      {
        to: "/boards",
        label: "Boards",
        icon: Table2,
        description: "rows that people and runs keep",
      },
      {
        to: "/pages",
        label: "Pages",
        icon: FileText,
        description: "what was read, to be found again",
      },
      {
        to: "/workflows",
        label: "Workflows",
        icon: Workflow,
        description: "people, numbers and dates",
      },
    ],
  },
  {
    label: "Connections",
    places: [
      { to: "/integrations", label: "Integrations", icon: Blocks, description: "accounts outside" },
      { to: "/models", label: "Models", icon: Cpu, description: "what agents think with" },
      {
        to: "/secrets",
        label: "Secrets",
        icon: KeyRound,
        description: "written once, never shown",
        least: "editor",
      },
      {
        to: "/connect",
        label: "MCP clients",
        icon: Plug,
        description: "your assistant, connected",
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
        description: "by automation, model and day",
      },
      {
        to: "/audit",
        label: "Audit log",
        icon: ScrollText,
        description: "who did what",
        least: "admin",
      },
      {
        to: "/health",
        label: "System health",
        icon: Unplug,
        description: "whether all of it works",
      },
      {
        to: "/settings",
        label: "Settings",
        icon: Settings,
        description: "you, members and tokens",
      },
    ],
  },
];

export const MORE: NavigationEntry[] = [
  { to: "/settings/members", label: "Members", icon: Users, description: "people and their roles" },
  { to: "/settings/tokens", label: "Tokens", icon: KeyRound, description: "for programs" },
];
