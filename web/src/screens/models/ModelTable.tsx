// All available models, and their price per million tokens.

import { Badge, Card, Group, Table, Text } from "@mantine/core";
import type { Answer } from "../../api/client";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type Model = Answer<"list_models">["models"][number];

const dollars = (amount: string | undefined) => amount === undefined ? "—" : `$${amount}`;

export function ModelTable({ models, usual }: { models: Model[]; usual: string | null }) {
  if (!models.length) return null;
  return (
    <Card withBorder radius="lg" p={0}>
      <Table.ScrollContainer minWidth={560}>
        <Table verticalSpacing="sm" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t.models.model}</Table.Th>
              <Table.Th ta="right">{t.models.inputPerMillionTokens}</Table.Th>
              <Table.Th ta="right">{t.models.outputPerMillionTokens}</Table.Th>
              <Table.Th>{t.models.available}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {models.map((one) => (
              <Table.Tr key={one.name}>
                <Table.Td>
                  <Group gap="xs">
                    <Text size="sm" className="mono">{escapeInvisible(one.name)}</Text>
                    {one.name === usual
                      ? <Badge size="sm" variant="light" tt="none">{t.models.default2}</Badge>
                      : null}
                  </Group>
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {dollars(one.price?.input_usd_per_million)}
                </Table.Td>
                <Table.Td ta="right" className="numbers">
                  {dollars(one.price?.output_usd_per_million)}
                </Table.Td>
                <Table.Td>
                  {one.can_be_asked ? t.models.yes : one.why_not ?? t.models.no}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
