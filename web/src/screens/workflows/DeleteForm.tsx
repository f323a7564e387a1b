// Deleting a workflow: its automations are archived, and optionally its board.

import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import { formatCount } from "../../kit/format";
import type { WorkflowDetail } from "./progress";

export function DeleteForm({ held, onClose }: { held: WorkflowDetail; onClose: () => void }) {
  const [board, setBoard] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const navigate = useNavigate();
  const remove = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.DELETE("/api/v1/workflows/{workflow_id}", {
        params: { path: { workflow_id: held.id }, query: { delete_board: board } },
      });
      const archived = data?.automations_archived.length ?? 0;
      notifyDone(
        `${held.title} is deleted${
          archived ? `; ${formatCount(archived, "automation is", "automations are")} archived` : ""
        }.`,
      );
      // Navigates first, so that nothing refetches the deleted workflow.
      await navigate({ to: "/workflows" });
      await refresh("/api/v1/automations", "/api/v1/boards");
      await refresh("/api/v1/workflows");
    } catch (refused) {
      setProblem(refused);
      setBusy(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={`Delete ${held.title}?`} centered>
      <Stack>
        <Text size="sm">
          Its charter, KPIs and roster are gone for good. Its automations are archived, except those
          that another workflow has too; they can be restored.
        </Text>
        {held.board_id
          ? (
            <Checkbox
              label="Archive its board too"
              description="Otherwise the board stays as it is. An archived board can be restored."
              checked={board}
              onChange={(event) => setBoard(event.currentTarget.checked)}
            />
          )
          : null}
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>Cancel</Button>
          <Button color="red.9" loading={busy} onClick={() => void remove()}>
            Delete the workflow
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
