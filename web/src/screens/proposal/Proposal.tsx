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

function Gone() {
  return (
    <>
      <PageHead title="Proposal" back={{ to: "/new", label: "New automation" }} />
      <Empty
        icon={FileX2}
        title="This proposal is not here any more"
        actions={<Button component={Link} to="/new">Begin a new one</Button>}
      >
        Proposals are kept for seven days. It may have been thrown away, or stand in another of your
        workspaces. What was saved of it is among your automations.
      </Empty>
    </>
  );
}

const nameOf = ({ definition }: Shown) => {
  const { name } = definition as { name?: unknown };
  return typeof name === "string" && name ? name : "Without a name";
};

function Head({ proposal }: { proposal: Shown }) {
  const { automation_id: changes, proposal_id: id, digest } = proposal;
  const path = `/api/v1/proposals/${id}`;
  return (
    <PageHead
      title={nameOf(proposal)}
      beside={<Stands status={proposal.status} />}
      back={{ to: "/new", label: "New automation" }}
      sub={
        <>
          {changes
            ? (
              <>
                A change of{" "}
                <Anchor
                  underline="always"
                  component={Link}
                  to="/automations/$automationId"
                  params={{ automationId: changes } as never}
                  inherit
                >
                  an automation
                </Anchor>
              </>
            )
            : "A proposal for a new automation"}
          {proposal.status === "saved" ? " · saved" : (
            <>
              {" "}· kept until {formatDate(proposal.expires_at)}
            </>
          )}
        </>
      }
      right={
        <CopyAs
          operations={[
            {
              label: "Show it",
              operation: {
                method: "GET",
                path,
                tool: "get_proposal",
                arguments: { proposal_id: id },
              },
            },
            {
              label: "Go on with it",
              operation: {
                method: "POST",
                path: `${path}/refine`,
                body: { instruction: "only on Mondays" },
                tool: "refine_proposal",
                arguments: { proposal_id: id, instruction: "only on Mondays" },
              },
            },
            {
              label: "Save it, as a person",
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
      {query.data
        ? null
        : <PageHead title="Proposal" back={{ to: "/new", label: "New automation" }} />}
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
