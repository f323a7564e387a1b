// Creating an automation: from a description, a starter, or another source.

import { Alert, Box, Grid, Stack } from "@mantine/core";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../../api/client";
import { useHasRole, useSession } from "../../api/session";
import { useUrlState } from "../../kit/urlState";
import { ProblemNote } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { openStorage } from "../../kit/unsentInput";
import { PageHead } from "../../kit/PageHead";
import { OtherSources } from "./OtherSources";
import { ChangedAutomation } from "./ChangedAutomation";
import { bodyOf, knownZone, usePropose } from "./usePropose";
import { SaveStarter, Starters } from "./Starters";
import { OpenProposals } from "./OpenProposals";
import { DescriptionForm } from "./DescriptionForm";
import { t } from "../../strings";

const KEPT = "new.words";

/** An unsent description survives a reload. */
function useDescription(given: string | undefined, key: string) {
  const place = useMemo(() => openStorage(key), [key]);
  const [text, setText] = useState(() => given ?? place.kept() ?? "");
  useEffect(() => {
    if (text) place.keep(text);
    else place.forget();
  }, [text, place]);
  return [text, setText] as const;
}

function useAutomation(id: string | undefined) {
  return api.useQuery("get", "/api/v1/automations/{automation_id}", {
    params: { path: { automation_id: id ?? "" } },
  }, { enabled: !!id });
}

// Memoized, so that a key press in the text box does not rerender it.
const Examples = memo(Starters);
const Others = memo(OtherSources);
const Open = memo(OpenProposals);

const EXAMPLE = t.create.everyWeekdayAt9Berlin;
const CHANGE = t.create.forExampleOnlyOnMondays;

export default function New() {
  const [{ automation, words: message, go }, change] = useUrlState();
  const key = automation ? `${KEPT}.${automation}` : KEPT;
  const [text, setText] = useDescription(message, key);
  const box = useRef<HTMLTextAreaElement>(null);
  const { busy, problem, propose } = usePropose();
  const found = useAutomation(automation);
  const may = useHasRole("editor");
  const { role } = useSession();
  const pick = useCallback((picked: string) => {
    setText(picked);
    box.current?.focus();
    box.current?.scrollIntoView({ block: "center" });
  }, [setText]);
  // A description from another screen is submitted immediately, once.
  useEffect(() => {
    if (!go || !message || !may) return;
    change({ go: undefined });
    void propose({ text: message }).then((done) => done && openStorage(KEPT).forget());
  }, []);
  const unknown: unknown = found.error;
  const name = found.data?.name;
  const body = bodyOf({ text, automation }, knownZone());
  const copy = {
    method: "POST",
    path: "/api/v1/proposals",
    body,
    tool: "propose_automation",
  } as const;
  return (
    <>
      <PageHead
        title={automation ? t.create.change(name ?? t.create.anAutomation) : t.create.newAutomation}
        sub={automation ? t.create.youSeeTheChangesBefore : t.create.describeItReviewTheProposal}
        back={automation
          ? { to: `/automations/${automation}`, label: name ?? t.create.automation }
          : undefined}
        right={<CopyAs operations={[{ label: t.create.createAProposal, operation: copy }]} />}
      />
      {unknown
        ? (
          <Box mb="md">
            <ProblemNote problem={unknown} />
          </Box>
        )
        : null}
      {may ? null : <Alert color="gray" mb="md">{t.create.yourRoleCanOnlyView(role)}</Alert>}
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: automation ? 7 : 8 }}>
          <Stack gap="lg">
            <fieldset
              disabled={!may}
              style={{ border: 0, padding: 0, margin: 0, minWidth: 0 }}
            >
              <DescriptionForm
                text={text}
                onText={setText}
                label={automation
                  ? t.create.whatShouldBeDifferent
                  : t.create.whatShouldHappenAndWhen}
                placeholder={automation ? CHANGE : EXAMPLE}
                busy={busy}
                problem={problem}
                box={box}
                propose={(request) => void propose({ ...request, automation }).then((done) => {
                  if (done) openStorage(key).forget();
                })}
              />
            </fieldset>
            {may && !automation ? <SaveStarter text={text} /> : null}
            {automation ? null : <Examples pick={pick} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: automation ? 5 : 4 }}>
          <Stack gap="lg">
            {automation
              ? (found.data ? <ChangedAutomation automation={found.data} /> : null)
              : <Others />}
            <Open />
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}
