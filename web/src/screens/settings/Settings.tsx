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
import { t } from "../../strings";

type Tab = {
  value: string;
  label: string;
  icon: LucideIcon;
  screen: ComponentType;
  /** The required role; default: everybody. */
  for?: (who: Session) => boolean;
};

const TABS: Tab[] = [
  { value: "you", label: t.settings.profile, icon: User, screen: Profile },
  { value: "sessions", label: t.settings.sessions, icon: LaptopMinimal, screen: Sessions },
  { value: "members", label: t.settings.members, icon: Users, screen: Members },
  { value: "tokens", label: t.settings.tokens, icon: KeyRound, screen: Tokens },
  { value: "workspace", label: t.settings.workspace, icon: Building2, screen: Workspace },
  {
    value: "administration",
    label: t.settings.administration,
    icon: Shield,
    screen: Administration,
    for: (who) => who.user.administrator,
  },
];

const OPERATIONS: { label: string; operation: Operation }[] = [
  { label: t.settings.showMySession, operation: { method: "GET", path: "/api/v1/session" } },
  { label: t.settings.listMembers, operation: { method: "GET", path: "/api/v1/members" } },
  {
    label: t.settings.inviteAMember,
    operation: {
      method: "POST",
      path: "/api/v1/invitations",
      body: { email: "ada@example.org", role: "editor" },
    },
  },
  {
    label: t.settings.createAToken,
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
        title={t.settings.settings}
        sub={t.settings.inTheWorkspaceAs(who.workspace.name, who.role)}
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
