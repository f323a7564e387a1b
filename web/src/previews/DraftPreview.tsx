// The preview of a draft as it will be delivered, with all of its other arguments.

import { Box, Stack, Text } from "@mantine/core";
import { api } from "../api/client";
import { ChatMessage } from "./ChatMessage";
import { EventCard } from "./EventCard";
import { EmailPreview } from "./EmailPreview";
import { FieldsCard, FileCard, IssueCard, RequestCard, RowsCard } from "./OtherPreviews";
import { destinationOf, type PreviewDraft, type Shape, shapeOf } from "./shape";
import { drawn, Lines } from "./Value";
import "./previews.css";
import { t } from "../strings";

function Message({ draft, shape }: { draft: PreviewDraft; shape: Shape }) {
  const { data } = api.useQuery("get", "/api/v1/integrations");
  const place = destinationOf(draft, data?.integrations ?? []);
  return <ChatMessage shape={shape} place={place} account={draft.account} />;
}

function Drawing({ draft, shape }: { draft: PreviewDraft; shape: Shape }) {
  switch (shape.kind) {
    case "email":
      return <EmailPreview shape={shape} account={draft.account} />;
    case "event":
      return <EventCard shape={shape} />;
    case "message":
      return <Message draft={draft} shape={shape} />;
    case "issue":
      return <IssueCard shape={shape} />;
    case "file":
      return <FileCard shape={shape} />;
    case "request":
      return <RequestCard shape={shape} />;
    case "rows":
      return <RowsCard shape={shape} />;
    case "fields":
      return <FieldsCard shape={shape} />;
  }
}

export function DraftPreview({ draft }: { draft: PreviewDraft }) {
  const shape = shapeOf(draft);
  return (
    <Stack gap="xs">
      <Drawing draft={draft} shape={shape} />
      {shape.kind !== "fields" && shape.rest.length
        ? (
          <Box px="lg">
            <Text size="xs" c="dimmed" fw={600} mb={4}>{t.previews.additionalValues}</Text>
            <Lines lines={drawn(shape.rest)} />
          </Box>
        )
        : null}
    </Stack>
  );
}
