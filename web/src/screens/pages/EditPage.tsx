// Editing a page: title and text. A concurrent change is never overwritten.

import { Button, Card, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { type Answer, client } from "../../api/client";
import { ProblemNote } from "../../kit/QueryResult";
import { t } from "../../strings";

type Props = { page: Answer<"get_page">; close: () => void; done: () => Promise<unknown> };

export function EditPage({ page, close, done }: Props) {
  const [title, setTitle] = useState(page.title);
  const [body, setBody] = useState(page.body ?? "");
  // The content when editing began: a refetch in between changes nothing here.
  const [began] = useState(page.content_hash);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await client.PATCH("/api/v1/pages/{slug}", {
        params: { path: { slug: page.slug } },
        body: { title: title.trim(), body, content_hash: began } as never,
      });
      await done();
    } catch (refused) {
      setProblem(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <TextInput
            label={t.pages.title}
            required
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Textarea
            label={t.pages.text}
            description={t.pages.markdown}
            autosize
            minRows={12}
            maxRows={30}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
            styles={{
              input: {
                fontFamily: "var(--mantine-font-family-monospace)",
                fontSize: 13.5,
              },
            }}
          />
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>{t.pages.cancel}</Button>
            <Button type="submit" loading={busy} disabled={!title.trim()}>{t.pages.save}</Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}
