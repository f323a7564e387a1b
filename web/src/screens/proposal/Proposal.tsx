// A proposal: generated from a description, to be read, answered, edited and saved by a person.

import { Anchor, Button } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { FileX2 } from "lucide-react";
import { Problem } from "../../api/problem";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { formatDate } from "../../kit/format";
import type { Proposal as Shown } from "../../review/reviewText";
import { Stands } from "../new/OpenProposals";
import { useProposal } from "./requests";
import { Reader } from "./Reader";
import { Saved } from "./Saved";
import { t } from "../../strings";

function Gone() {
  return (
    <>
      <PageHead
        title={t.proposal.proposal}
        back={{ to: "/new", label: t.proposal.newAutomation }}
      />
      <Empty
        icon={FileX2}
        title={t.proposal.proposalNotFound}
        actions={<Button component={Link} to="/new">{t.proposal.createANewOne}</Button>}
      >
        {t.proposal.proposalsAreKeptForSeven}
      </Empty>
    </>
  );
}

const nameOf = ({ definition }: Shown) => {
  const { name } = definition as { name?: unknown };
  return typeof name === "string" && name ? name : t.proposal.untitled;
};

function Head({ proposal }: { proposal: Shown }) {
  const { automation_id: changes, proposal_id: id, digest } = proposal;
  const path = `/api/v1/proposals/${id}`;
  return (
    <PageHead
      title={nameOf(proposal)}
      beside={<Stands status={proposal.status} />}
      back={{ to: "/new", label: t.proposal.newAutomation }}
      sub={
        <>
          {changes
            ? (
              <>
                {t.proposal.aChangeOf(
                  <Anchor
                    underline="always"
                    component={Link}
                    to="/automations/$automationId"
                    params={{ automationId: changes } as never}
                    inherit
                  >
                    {t.proposal.anAutomation}
                  </Anchor>,
                )}
              </>
            )
            : t.proposal.aProposalForANew}
          {proposal.status === "saved"
            ? t.proposal.saved2
            : <>{" "}{t.proposal.expires(formatDate(proposal.expires_at))}</>}
        </>
      }
      right={
        <CopyAs
          operations={[
            {
              label: t.proposal.showIt,
              operation: {
                method: "GET",
                path,
                tool: "get_proposal",
                arguments: { proposal_id: id },
              },
            },
            {
              label: t.proposal.refineIt,
              operation: {
                method: "POST",
                path: `${path}/refine`,
                body: { instruction: "only on Mondays" },
                tool: "refine_proposal",
                arguments: { proposal_id: id, instruction: "only on Mondays" },
              },
            },
            {
              label: t.proposal.saveItPeopleOnly,
              operation: { method: "POST", path: `${path}/save`, body: { digest } },
            },
          ]}
        />
      }
    />
  );
}

export default function Proposal() {
  const { proposalId = "" } = useParams({ strict: false }) as { proposalId?: string };
  const query = useProposal(proposalId);
  const problem: unknown = query.error;
  const gone = problem instanceof Problem && [404, 410, 422].includes(problem.status);
  if (gone && !query.data) return <Gone />;
  return (
    <>
      {query.data ? null : (
        <PageHead
          title={t.proposal.proposal}
          back={{ to: "/new", label: t.proposal.newAutomation }}
        />
      )}
      <QueryResult of={query} lines={6}>
        {(proposal) => (
          <>
            <Head proposal={proposal} />
            {proposal.status === "saved"
              ? <Saved proposal={proposal} />
              : <Reader key={proposal.proposal_id} latest={proposal} />}
          </>
        )}
      </QueryResult>
    </>
  );
}
