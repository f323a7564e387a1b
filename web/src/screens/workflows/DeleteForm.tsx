// Deleting a workflow: its automations are archived, and optionally its board.

import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, refresh } from "../../api/client";
import { notifyDone } from "../../kit/useAction";
import { ProblemNote } from "../../kit/QueryResult";
import type { WorkflowDetail } from "./progress";
import { t } from "../../strings";

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
        t.workflows.isDeleted(
          held.title,
          archived ? t.workflows.automationIsArchived(archived) : "",
        ),
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
    <Modal opened onClose={onClose} title={t.workflows.delete(held.title)} centered>
      <Stack>
        <Text size="sm">{t.workflows.itsCharterKpisAndMembers}</Text>
        {held.board_id
          ? (
            <Checkbox
              label={t.workflows.alsoArchiveItsBoard}
              description={t.workflows.otherwiseTheBoardStaysYou}
              checked={board}
              onChange={(event) => setBoard(event.currentTarget.checked)}
            />
          )
          : null}
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>{t.workflows.cancel}</Button>
          <Button color="red.9" loading={busy} onClick={() => void remove()}>
            {t.workflows.deleteProject}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
