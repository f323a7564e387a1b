// Creating a page.

import { Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client, refresh } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { t } from "../../strings";

export function NewPage({ opened, close }: { opened: boolean; close: () => void }) {
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { data } = await client.POST("/api/v1/pages", {
        body: { type: "note", title: title.trim(), body } as never,
      });
      void refresh("/api/v1/pages", "/api/v1/search", "/api/v1/query");
      if (data) await navigate({ to: `/pages/${data.slug}` });
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={close} title={t.pages.newPage} size="lg" centered>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <TextInput
            label={t.pages.title}
            required
            data-autofocus
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Textarea
            label={t.pages.text}
            description={t.pages.markdownHeadingsListsBoldLinks}
            autosize
            minRows={8}
            maxRows={20}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
          />
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.pages.cancel}</Button>
            <Button type="submit" loading={busy} disabled={!title.trim()}>
              {t.pages.savePage}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
