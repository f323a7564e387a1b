// The layout of every screen for signed-in users.

import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Center,
  Group,
  Kbd,
  Loader,
  Text,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { api, refresh, setCsrf, setWorkspace, whenMoved, whenSignedOut } from "../api/client";
import { useLive, useLiveStream } from "../api/live";
import { importWhenReachable } from "../api/lazyImport";
import { Problem } from "../api/problem";
import { renew } from "../api/push";
import { type Session, WhoProvider } from "../api/session";
import { ProblemNote } from "../kit/QueryResult";
import { setOwner } from "../kit/unsentInput";
import { HelpLink } from "./HelpLink";
import { Mark } from "./Mark";
import { SideMenu } from "./Menu";
import { followLink, isElsewhere, workspaceOfLink } from "./switchWorkspace";
import { openPalette, Palette } from "./Palette";
import { UserMenu } from "./UserMenu";
import { Reconnecting } from "./Reconnecting";
import { useLinkedWorkspace } from "./useLinkedWorkspace";
import { redirectToSignIn } from "./signInRedirect";
import { t } from "../strings";

const SignedOut = lazy(importWhenReachable(() => import("./SignedOut")));
const HeldWorkspace = lazy(importWhenReachable(() => import("../screens/health/HaltControls")));

export function Shell() {
  const session = api.useQuery("get", "/api/v1/session", {}, { staleTime: 60_000 });
  const [lost, setLost] = useState(false);
  useEffect(() => whenSignedOut(() => setLost(true)), []);
  const refusal: unknown = session.error;
  const unknown = refusal instanceof Problem && refusal.status === 401;
  const who = useInitialSession(session.data, lost || unknown);
  const moving = useLinkedWorkspace(who);
  // Until this tab has signed in, even if another tab does.
  useEffect(() => {
    if (unknown && who) setLost(true);
  }, [unknown, who]);
  const elsewhere = who ? workspaceOfLink(who.workspace.id, location.href) : null;
  useEffect(() => {
    if (who && elsewhere) void followLink(elsewhere, who).catch(() => undefined);
  }, [elsewhere]);
  // Nothing is shown of a workspace other than the linked one.
  if (elsewhere) return null;
  if (session.data && session.data.user.id !== who?.user.id) {
    // Another user signed in in another tab: nothing of the previous one remains.
    return null;
  }
  if (who && !moving) {
    return (
      <>
        <Inside who={who} />
        {lost || unknown
          ? (
            <Suspense>
              <SignedOut who={who} onBack={() => setLost(false)} />
            </Suspense>
          )
          : null}
      </>
    );
  }
  if (unknown) {
    redirectToSignIn();
    return null;
  }
  return (
    <Center mih="100vh" p="lg">
      {refusal
        ? <ProblemNote problem={refusal} again={() => void session.refetch()} />
        : <Loader aria-label={t.shell.loading} />}
    </Center>
  );
}

/** The user and workspace at page load; any change reloads the page. */
function useInitialSession(now: Session | undefined, lost: boolean): Session | undefined {
  const shown = useRef(now);
  const moved = Boolean(now && shown.current && isElsewhere(shown.current, now));
  if (!moved) shown.current = now ?? shown.current;
  // After signing in again over a screen, the same user returns to its workspace; another one does
  // not.
  const stays = lost && now?.user.id === shown.current?.user.id;
  useEffect(() => whenMoved(() => location.reload()), []);
  useEffect(() => {
    if (moved && !stays) location.reload();
  }, [moved, stays]);
  return shown.current;
}

function Inside({ who }: { who: Session }) {
  setCsrf(who.csrf_token);
  setWorkspace(who.workspace.id);
  setOwner(who);
  const [open, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useLiveStream(who.workspace.id);
  useEffect(() => void renew(), []);
  useLive(({ kind }) => {
    // Lists follow live updates; a screen of one run subscribes itself.
    if (kind === "run") void refresh("/api/v1/runs", "/api/v1/automations");
    if (kind === "inbox") {
      void refresh(
        "/api/v1/drafts",
        "/api/v1/approvals",
        "/api/v1/inbox",
        "/api/v1/consents",
      );
    }
  });
  return (
    <WhoProvider value={who}>
      <a className="skip-link" href="#content">{t.shell.skipToContent}</a>
      <AppShell
        navbar={{ width: 248, breakpoint: "sm", collapsed: { mobile: !open } }}
        header={{ height: { base: 54, sm: 0 } }}
        padding="md"
      >
        <AppShell.Header hiddenFrom="sm" px="sm">
          <Group h="100%" justify="space-between">
            <Group gap="xs">
              <Burger
                opened={open}
                onClick={toggle}
                size="sm"
                aria-label={open ? t.shell.closeTheMenu : t.shell.openTheMenu}
              />
              <Brand />
            </Group>
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              onClick={openPalette}
              aria-label={t.shell.search}
            >
              <Search size={18} />
            </ActionIcon>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="sm">
          <Group justify="space-between" mb="sm" px={4} visibleFrom="sm">
            <Brand />
            <UnstyledButton onClick={openPalette} aria-label={t.shell.ctrlKSearch}>
              <Group gap={4} c="dimmed">
                <Search size={15} aria-hidden /> <Kbd size="xs">Ctrl K</Kbd>
              </Group>
            </UnstyledButton>
          </Group>
          <SideMenu onGo={close} />
          <Box pt="xs" mt="xs" style={{ borderTop: "1px solid var(--line)" }}>
            <HelpLink path={path} />
            <UserMenu />
          </Box>
        </AppShell.Navbar>
        <AppShell.Main id="content" key={who.workspace.id} tabIndex={-1}>
          <Box maw={1240} mx="auto" py={{ base: 0, sm: "sm" }} data-path={path}>
            <Reconnecting />
            {/* The halts screen shows it with the others. */}
            {path === "/health" ? null : (
              <Suspense>
                <HeldWorkspace />
              </Suspense>
            )}
            <Outlet />
          </Box>
        </AppShell.Main>
      </AppShell>
      <Palette />
    </WhoProvider>
  );
}

function Brand() {
  return (
    <Link to="/" className="row-link" style={{ background: "none" }}>
      <Group gap={8}>
        <Mark /> <Text fw={650}>{t.shell.mainspring}</Text>
      </Group>
    </Link>
  );
}
