// The preview of a draft as it will be delivered, with all of its other arguments.

import { Box, Stack, Text } from "@mantine/core";
import { api } from "../api/client";
import { Bubble } from "./ChatMessage";
import { EventCard } from "./EventCard";
import { Letter } from "./EmailPreview";
import { FieldsCard, FileCard, IssueCard, RequestCard, RowsCard } from "./OtherPreviews";
import { type Drawn, placeOf, type Shape, shapeOf } from "./shape";
import { drawn, Lines } from "./Value";
import "./previews.css";

function Message({ draft, shape }: { draft: Drawn; shape: Shape }) {
  const { data } = api.useQuery("get", "/api/v1/integrations");
  const place = placeOf(draft, data?.integrations ?? []);
  return <Bubble shape={shape} place={place} account={draft.account} />;
}

function Drawing({ draft, shape }: { draft: Drawn; shape: Shape }) {
  switch (shape.kind) {
    case "email":
      return <Letter shape={shape} account={draft.account} />;
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

export function Delivered({ draft }: { draft: Drawn }) {
  const shape = shapeOf(draft);
  return (
    <Stack gap="xs">
      <Drawing draft={draft} shape={shape} />
      {shape.kind !== "fields" && shape.rest.length
        ? (
          <Box px="lg">
            <Text size="xs" c="dimmed" fw={600} mb={4}>Also goes with it</Text>
            <Lines lines={drawn(shape.rest)} />
          </Box>
        )
        : null}
    </Stack>
  );
}
