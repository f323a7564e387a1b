// Settings: profile, sessions, members, tokens and workspace.

import { Tabs } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import {
  Building2,
  KeyRound,
  LaptopMinimal,
  type LucideIcon,
  Shield,
  User,
  Users,
} from "lucide-react";
import type { ComponentType } from "react";
import { type Session, useSession } from "../../api/session";
import { CopyAs, type Operation } from "../../kit/Copy";
import { PageHead } from "../../kit/PageHead";
import { Administration } from "./Administration";
import { Members } from "./Members";
import { Sessions } from "./Sessions";
import { Tokens } from "./Tokens";
import { Workspace } from "./Workspace";
import { Profile } from "./Profile";

type Tab = {
  value: string;
  label: string;
  icon: LucideIcon;
  screen: ComponentType;
  /** The required role; default: everybody. */
  for?: (who: Session) => boolean;
};

const TABS: Tab[] = [
  { value: "you", label: "You", icon: User, screen: Profile },
  { value: "sessions", label: "Sessions", icon: LaptopMinimal, screen: Sessions },
  { value: "members", label: "Members", icon: Users, screen: Members },
  { value: "tokens", label: "Tokens", icon: KeyRound, screen: Tokens },
  { value: "workspace", label: "Workspace", icon: Building2, screen: Workspace },
  {
    value: "administration",
    label: "Administration",
    icon: Shield,
    screen: Administration,
    for: (who) => who.user.administrator,
  },
];

const OPERATIONS: { label: string; operation: Operation }[] = [
  { label: "Who am I", operation: { method: "GET", path: "/api/v1/session" } },
  { label: "List members", operation: { method: "GET", path: "/api/v1/members" } },
  {
    label: "Invite somebody",
    operation: {
      method: "POST",
      path: "/api/v1/invitations",
      body: { email: "ada@example.org", role: "editor" },
    },
  },
  {
    label: "Make a token",
    operation: {
      method: "POST",
      path: "/api/v1/tokens",
      body: { name: "ci", role: "operator" },
    },
  },
];

export default function Settings() {
  const who = useSession();
  const navigate = useNavigate();
  const { tab } = useParams({ strict: false }) as { tab?: string };
  const shown = TABS.filter((one) => one.for?.(who) ?? true);
  const here = shown.find((one) => one.value === tab) ?? shown[0]!;
  const go = (value: string | null) =>
    void navigate({ to: "/settings/$tab", params: { tab: value ?? "you" } });
  return (
    <>
      <PageHead
        title="Settings"
        sub={`In the workspace ${who.workspace.name}, as ${who.role}.`}
        right={<CopyAs operations={OPERATIONS} />}
      />
      <Tabs value={here.value} onChange={go} keepMounted={false}>
        <Tabs.List mb="lg">
          {shown.map(({ value, label, icon: Icon }) => (
            <Tabs.Tab
              key={value}
              value={value}
              leftSection={<Icon size={15} aria-hidden />}
            >
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {shown.map(({ value, screen: Screen }) => (
          <Tabs.Panel key={value} value={value}>
            <Screen />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
