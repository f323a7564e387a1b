// The cost breakdown, one line each; a line links to its requests.

import {
  Anchor,
  Button,
  Card,
  Group,
  Progress,
  SegmentedControl,
  Table,
  Text,
} from "@mantine/core";
import { Download } from "lucide-react";
import { useUrlState } from "../../kit/urlState";
import { csv, download } from "../../kit/download";
import { escapeInvisible, formatUsd } from "../../kit/format";
import { type By, type Line, linesOf, shareOf, type Sum, tokensOf, type Usage } from "./sums";
import { locale, t } from "../../strings";

const WAYS: { value: By; label: string }[] = [
  { value: "automation", label: t.costs.automation },
  { value: "model", label: t.costs.model },
  { value: "day", label: t.costs.day },
  { value: "caller", label: t.costs.caller },
];

const HEAD = [
  "asks",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "cost_usd",
  "reported_usd",
] as const;

export function Breakdown({ usage }: { usage: Usage }) {
  const [address, change] = useUrlState();
  const by = WAYS.find((one) => one.value === address.by)?.value ?? "automation";
  const lines = linesOf(usage, by);
  const save = () => {
    const rows = lines.map(({ label, sum }) => [label, ...HEAD.map((name) => sum[name])]);
    download(`costs-${by}-${usage.from}-${usage.to}.csv`, csv([by, ...HEAD], rows), "text/csv");
  };
  return (
    <Card withBorder radius="lg" p="lg">
      <Group justify="space-between" mb="sm">
        <SegmentedControl
          aria-label={t.costs.groupBy}
          value={by}
          onChange={(value) => change({ by: value })}
          data={WAYS}
        />
        <Button variant="default" leftSection={<Download size={15} />} onClick={save}>
          {t.costs.exportAsCsv}
        </Button>
      </Group>
      <Table.ScrollContainer minWidth={520} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{WAYS.find((one) => one.value === by)!.label}</Table.Th>
              <Table.Th ta="right">{t.costs.requests}</Table.Th>
              <Table.Th ta="right">{t.costs.tokens}</Table.Th>
              <Table.Th ta="right">{t.costs.cost}</Table.Th>
              <Table.Th w={140}>{t.costs.share}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.map((line) => (
              <OneLine
                key={line.key}
                line={line}
                total={usage.total}
                onChoose={() => change(line.only)}
              />
            ))}
          </Table.Tbody>
          <Table.Tfoot>
            <Table.Tr>
              <Table.Th>{t.costs.total}</Table.Th>
              <Table.Th ta="right" className="numbers">
                {usage.total.asks.toLocaleString(locale)}
              </Table.Th>
              <Table.Th ta="right" className="numbers">
                {tokensOf(usage.total).toLocaleString(locale)}
              </Table.Th>
              <Table.Th ta="right" className="numbers">
                {formatUsd(usage.total.cost_usd)}
              </Table.Th>
              <Table.Td />
            </Table.Tr>
          </Table.Tfoot>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}

function OneLine({ line, total, onChoose }: { line: Line; total: Sum; onChoose: () => void }) {
  const share = shareOf(line.sum.cost_usd, total.cost_usd);
  const leads = Object.keys(line.only).length > 0;
  return (
    <Table.Tr>
      <Table.Td className="wrap-anywhere">
        {leads
          ? (
            <Anchor
              component="button"
              type="button"
              size="sm"
              onClick={onChoose}
              ta="left"
            >
              {escapeInvisible(line.label)}
            </Anchor>
          )
          : <Text size="sm">{escapeInvisible(line.label)}</Text>}
      </Table.Td>
      <Table.Td ta="right" className="numbers">{line.sum.asks.toLocaleString(locale)}</Table.Td>
      <Table.Td ta="right" className="numbers">
        {tokensOf(line.sum).toLocaleString(locale)}
      </Table.Td>
      <Table.Td ta="right" className="numbers">{formatUsd(line.sum.cost_usd)}</Table.Td>
      <Table.Td>
        <Progress value={share} aria-label={t.costs.ofTheCost(share)} />
      </Table.Td>
    </Table.Tr>
  );
}
