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
import { t } from "../strings";

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
      { to: "/", label: t.shell.home, icon: House, description: t.shell.whatWaitsForYou },
      {
        to: "/inbox",
        label: t.shell.inbox,
        icon: Inbox,
        description: t.shell.draftsQuestionsAndFailures,
      },
      {
        to: "/automations",
        label: t.shell.automations,
        icon: Zap,
        description: t.shell.everythingThatRunsAutomatically,
      },
      {
        to: "/runs",
        label: t.shell.runs,
        icon: Activity,
        description: t.shell.pastAndCurrentRuns,
      },
    ],
  },
  {
    label: t.shell.library,
    places: [
      {
        to: "/codex",
        label: t.shell.recipes,
        icon: BookOpen,
        description: t.shell.readyMadeAutomations,
      },
      {
        to: "/boards",
        label: t.shell.boards,
        icon: Table2,
        description: t.shell.rowsThatPeopleAndRuns,
      },
      {
        to: "/pages",
        label: t.shell.pages,
        icon: FileText,
        description: t.shell.ingestedDocumentsSearchable,
      },
      {
        to: "/workflows",
        label: t.shell.projects,
        icon: Workflow,
        description: t.shell.peopleNumbersAndDates,
      },
    ],
  },
  {
    label: t.shell.connections,
    places: [
      {
        to: "/integrations",
        label: t.shell.integrations,
        icon: Blocks,
        description: t.shell.externalAccounts,
      },
      {
        to: "/models",
        label: t.shell.models,
        icon: Cpu,
        description: t.shell.languageModelsForAgents,
      },
      {
        to: "/secrets",
        label: t.shell.secrets,
        icon: KeyRound,
        description: t.shell.writtenOnceNeverShown,
        least: "editor",
      },
      {
        to: "/connect",
        label: t.shell.mcpClients,
        icon: Plug,
        description: t.shell.connectYourAssistant,
      },
    ],
  },
  {
    label: t.shell.system,
    places: [
      {
        to: "/costs",
        label: t.shell.costs,
        icon: ChartColumn,
        description: t.shell.byAutomationModelAndDay,
      },
      {
        to: "/audit",
        label: t.shell.auditLog,
        icon: ScrollText,
        description: t.shell.whoDidWhat,
        least: "admin",
      },
      {
        to: "/health",
        label: t.shell.systemHealth,
        icon: Unplug,
        description: t.shell.statusOfEveryComponent,
      },
      {
        to: "/settings",
        label: t.shell.settings,
        icon: Settings,
        description: t.shell.youMembersAndTokens,
      },
    ],
  },
];

export const MORE: NavigationEntry[] = [
  {
    to: "/settings/members",
    label: t.shell.members,
    icon: Users,
    description: t.shell.peopleAndTheirRoles,
  },
  {
    to: "/settings/tokens",
    label: t.shell.tokens,
    icon: KeyRound,
    description: t.shell.forPrograms,
  },
];
