// Errors and warnings; each links to its field.

import { Anchor, Badge, Box, Group, Stack, Text } from "@mantine/core";
import { describePointer } from "../form/pointers";
import type { ReviewNote } from "./reviewText";
import { t } from "../strings";

const LEVELS = {
  error: ["red", "wrong"],
  warning: ["yellow", "careful"],
  note: ["gray", "note"],
} as const;

type Props = { noted: ReviewNote[]; definition: unknown; go?: (pointer: string) => void };

export function Flags({ noted, definition, go }: Props) {
  return (
    <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
      {noted.map((one) => {
        const [color, word] = LEVELS[one.level];
        const place = describePointer(definition, one.pointer);
        return (
          <Box component="li" key={one.pointer + one.detail} className="wrap-anywhere">
            <Group gap={6} mb={2}>
              <Badge size="xs" color={color} variant="light" radius="sm" tt="none">
                {word}
              </Badge>
              {go
                ? (
                  <Anchor
                    component="button"
                    type="button"
                    size="xs"
                    onClick={() => go(one.pointer)}
                  >
                    {place}
                  </Anchor>
                )
                : <Text size="xs" c="dimmed">{place}</Text>}
            </Group>
            <Text size="sm">{one.detail}</Text>
            {one.suggestion || one.byModel
              ? (
                <Text size="xs" c="dimmed">
                  {one.suggestion} {one.byModel ? t.review.accordingToAModel : ""}
                </Text>
              )
              : null}
          </Box>
        );
      })}
    </Stack>
  );
}
