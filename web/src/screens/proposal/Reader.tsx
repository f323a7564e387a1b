// The page where a person reads a proposal, answers and changes it, and agrees.

import { Alert, Card, Grid, Stack, Text, Title } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { api } from "../../api/client";
import { useMay } from "../../api/session";
import { DefinitionEditor, type Finding, focusPointer, type Samples } from "../../form";
import { ProblemNote } from "../../kit/Asked";
import { ChangePart, type Definition, RehearsalPanel, ReviewPanel } from "../../review";
import { isStrict, notedIn, type Proposal } from "../../review/reading";
import { browserZone } from "../new/proposing";
import { type Draft } from "./draft";
import { EditList, Moved } from "./Moved";
import { Questions } from "./Questions";
import type { Refused } from "./refusals";
import { SaveBar } from "./SaveBar";
import { standing } from "./standing";
import { Summary } from "./Summary";
import { Talk } from "./Talk";
import { useDraft } from "./useDraft";
import { useGoingOn } from "./useGoingOn";
import { Versions } from "./Versions";

const NO_SAMPLES: Samples = { steps: {} };

/** What it changes, as it was when the change was proposed. */
function useBase({ automation_id: id, base_version: version }: Proposal): Definition | undefined {
    const { data } = api.useQuery("get", "/api/v1/automations/{automation_id}/versions/{version}", {
        params: { path: { automation_id: id ?? "", version: version ?? 0 } },
    }, { enabled: !!id && !!version });
    return data?.definition;
}

/** Flags, problems, open questions and refusals, each for its field. */
function useFindings(proposal: Proposal, refused: Refused): Finding[] {
    return useMemo(() => [
        ...refused.findings,
        ...notedIn(proposal),
        ...proposal.questions.map((one): Finding => ({
            pointer: one.pointer,
            detail: `Asked above: ${one.question}`,
            level: "note",
        })),
    ], [proposal, refused]);
}

function Whole({ draft, findings, base, readOnly, onChange, onBroken }: {
    draft: Draft;
    findings: Finding[];
    base?: Definition;
    readOnly: boolean;
    onChange: (definition: Definition) => void;
    onBroken: (words: string | null) => void;
}) {
    return (
        <Card withBorder radius="lg" p="lg" component="section" aria-label="All of it">
            <Title order={2} size="h4">All of it, to read and to change</Title>
            <Text size="sm" c="dimmed" mb="md">
                Every field, step by step. What you change is reviewed before it can be saved.
            </Text>
            <DefinitionEditor
                value={draft.definition}
                onChange={onChange}
                onBroken={onBroken}
                findings={findings}
                samples={NO_SAMPLES}
                readOnly={readOnly}
                compareWith={base}
            />
        </Card>
    );
}

export function Reader({ latest }: { latest: Proposal }) {
    const { draft, tell, edits } = useDraft(latest);
    const { held: proposal } = draft;
    const { busy, refused, overlaps, goOn, saveIt, throwAway } = useGoingOn(draft, edits, tell);
    const [broken, setBroken] = useState<string | null>(null);
    const [agreedTo, setAgreedTo] = useState<string | null>(null);
    const [note, setNote] = useState("");
    const may = useMay("editor");
    const base = useBase(proposal);
    const findings = useFindings(proposal, refused);
    const change = proposal.review.change;
    const mustAgree = (change?.widened ?? []).length > 0;
    // Agreeing is to what was read; another digest is read again.
    const agreed = agreedTo === proposal.digest;
    const needsNote = overlaps || isStrict(proposal.review.overlaps);
    const changed = edits.length;
    const parked = draft.parked !== null;
    const stands = standing({
        proposal,
        changed,
        broken,
        parked,
        mustAgree,
        agreed,
        needsNote,
        note,
    });
    const canReview = changed > 0 && !broken && !parked;
    const saveNow = () => void saveIt(needsNote ? note.trim() : undefined);
    useHotkeys([["mod+S", () => {
        if (busy || !may) return;
        if (canReview) void goOn("edits");
        else if (!stands && proposal.status === "ready") saveNow();
    }]], []);
    return (
        <>
            <Stack gap="md" mb={refused.rest || parked || draft.lost.length ? "md" : 0}>
                {refused.rest ? <Versions problem={refused.rest} proposal={proposal} /> : null}
                {draft.parked
                    ? (
                        <Moved
                            parked={draft.parked}
                            definition={draft.definition}
                            onMine={() => tell({ kind: "mine" })}
                            onTheirs={() => tell({ kind: "theirs" })}
                        />
                    )
                    : null}
                {draft.lost.length
                    ? (
                        <Alert
                            color="yellow"
                            variant="light"
                            title="These changes have no place any more"
                        >
                            <EditList edits={draft.lost} definition={draft.definition} />
                        </Alert>
                    )
                    : null}
            </Stack>
            <Grid gap="lg">
                <Grid.Col span={{ base: 12, md: 7, xl: 8 }}>
                    <Stack gap="lg">
                        <Summary proposal={proposal} />
                        {proposal.questions.length
                            ? (
                                <Questions
                                    questions={proposal.questions}
                                    givens={draft.givens}
                                    zone={browserZone()}
                                    definition={proposal.definition}
                                    errors={refused.answers}
                                    busy={busy === "answers"}
                                    disabled={!may || !!busy || parked}
                                    onGiven={(id, given) => tell({ kind: "given", id, given })}
                                    onAnswer={() => void goOn("answers")}
                                    go={focusPointer}
                                />
                            )
                            : null}
                        {change
                            ? (
                                <ChangePart
                                    change={change}
                                    grants={proposal.review.impact?.grants ?? []}
                                    before={base}
                                    after={proposal.definition}
                                    baseVersion={proposal.base_version}
                                />
                            )
                            : null}
                        {may && proposal.automation_id
                            ? (
                                <RehearsalPanel
                                    key={proposal.digest}
                                    automationId={proposal.automation_id}
                                    candidate={{ proposal_id: proposal.proposal_id }}
                                    hasFired={!!proposal.rehearsal}
                                    notYet={proposal.status === "ready"
                                        ? changed
                                            ? "Review your changes first; then it can be rehearsed."
                                            : null
                                        : "It can be rehearsed once it is ready to be saved."}
                                />
                            )
                            : null}
                        {may
                            ? (
                                <Talk
                                    proposal={proposal}
                                    text={draft.instruction}
                                    error={refused.instruction}
                                    busy={busy === "words"}
                                    disabled={!!busy || parked || !!broken}
                                    onText={(text) => tell({ kind: "instruction", text })}
                                    onSend={() => void goOn("words")}
                                />
                            )
                            : null}
                        <Whole
                            draft={draft}
                            findings={findings}
                            base={base}
                            readOnly={!may || !!busy || parked}
                            onChange={(definition) => tell({ kind: "definition", definition })}
                            onBroken={setBroken}
                        />
                    </Stack>
                </Grid.Col>
                <Grid.Col span={{ base: 12, md: 5, xl: 4 }}>
                    <aside className="beside">
                        <ReviewPanel
                            review={proposal.review}
                            definition={proposal.definition}
                            noted={notedIn(proposal)}
                            go={focusPointer}
                        />
                    </aside>
                </Grid.Col>
            </Grid>
            {may
                ? (
                    <SaveBar
                        {...{
                            proposal,
                            stands,
                            busy,
                            canReview,
                            mustAgree,
                            agreed,
                            needsNote,
                            note,
                        }}
                        changed={changed > 0 || !!broken}
                        noteError={refused.note}
                        onNote={setNote}
                        onAgreed={(yes) => setAgreedTo(yes ? proposal.digest : null)}
                        onReview={() => void goOn("edits")}
                        onSave={saveNow}
                        onDiscard={() => void throwAway()}
                    />
                )
                : null}
        </>
    );
}
