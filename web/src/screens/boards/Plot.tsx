// The chart itself, lazy-loaded. A table with the numbers follows for screen readers.

import { AreaChart, BarChart, LineChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import { Accordion, ScrollArea, Table } from "@mantine/core";
import type { Kind } from "./Charts";
import { locale, t } from "../../strings";

type Point = { x: string; y: number };
type Props = { kind: Kind; name: string; points: Point[] };

const number = (value: number) => value.toLocaleString(locale, { maximumFractionDigits: 2 });

/** The axis only has space for "45M". */
const short = (value: number) =>
  value.toLocaleString(locale, { notation: "compact", maximumFractionDigits: 1 });

export default function Plot({ kind, name, points }: Props) {
  const common = {
    h: 340,
    data: points as unknown as Record<string, unknown>[],
    dataKey: "x",
    series: [{ name: "y", label: name, color: "spring.6" }],
    valueFormatter: number,
    gridAxis: "x" as const,
    yAxisProps: { tickFormatter: short, width: 56 },
    tickLine: "none" as const,
  };
  return (
    <>
      <div
        role="img"
        aria-label={t.boards.valuesSeeTheTableBelow(name, points.length)}
      >
        {kind === "bar"
          ? (
            <BarChart
              {...common}
              maxBarWidth={96}
              barProps={{ radius: 4, isAnimationActive: false }}
            />
          )
          : kind === "line"
          ? <LineChart {...common} curveType="linear" />
          : <AreaChart {...common} curveType="linear" />}
      </div>
      <Accordion variant="filled" mt="md">
        <Accordion.Item value="numbers">
          <Accordion.Control>{t.boards.data}</Accordion.Control>
          <Accordion.Panel>
            <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0 }}>
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{t.boards.group}</Table.Th>
                    <Table.Th ta="right">{name}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {points.map(({ x, y }) => (
                    <Table.Tr key={x}>
                      <Table.Td className="wrap-anywhere">{x}</Table.Td>
                      <Table.Td ta="right" className="numbers">
                        {number(y)}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </ScrollArea.Autosize>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </>
  );
}
