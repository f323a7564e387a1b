// The access levels of a client: a few choices, each listing what it adds to the previous one.

import { Badge, Group, List, Radio, Stack, Text } from "@mantine/core";
import type { Role } from "../../api/session";
import { additions, careOf, type Choice, titleOf } from "./consentText";
import { t } from "../../strings";

type Props = {
  choices: readonly Choice[];
  requested: Role | null;
  value: Role;
  onChange: (role: Role) => void;
};

export function Choices({ choices, requested: asked, value, onChange }: Props) {
  return (
    <Radio.Group
      label={t.oauth.permissions}
      description={asked ? t.oauth.youCanGiveLessThan : t.oauth.theClientLeavesThisTo}
      value={value}
      onChange={(chosen) => onChange(chosen as Role)}
    >
      <Stack gap="xs" mt="sm">
        {choices.map((choice, at) => (
          <Radio.Card
            key={choice.role}
            value={choice.role}
            radius="md"
            p="sm"
            aria-label={titleOf(choice.role)}
            style={{
              borderColor: choice.role === value
                ? "var(--mantine-primary-color-filled)"
                : undefined,
            }}
          >
            <Group wrap="nowrap" align="flex-start" gap="sm">
              <Radio.Indicator mt={2} />
              <Stack gap={4} style={{ minWidth: 0 }}>
                <Group gap="xs">
                  <Text fw={600} size="sm">{titleOf(choice.role)}</Text>
                  {choice.role === asked
                    ? (
                      <Badge variant="light" size="sm" radius="sm" tt="none">
                        {t.oauth.requested}
                      </Badge>
                    )
                    : null}
                </Group>
                {at > 0 ? <Text size="xs" c="dimmed">{t.oauth.everythingAboveAnd}</Text> : null}
                <List size="sm" spacing={2} c="dimmed">
                  {additions(choices, at).map((text) => <List.Item key={text}>{text}</List.Item>)}
                </List>
                {careOf(choice.role)
                  ? <Text size="sm" c="var(--busy)">{careOf(choice.role)}</Text>
                  : null}
              </Stack>
            </Group>
          </Radio.Card>
        ))}
      </Stack>
    </Radio.Group>
  );
}
