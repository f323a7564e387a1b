// The cost per day as a bar chart; lazy-loaded.

import "@mantine/charts/styles.css";
import { BarChart } from "@mantine/charts";
import { formatUsd } from "../../kit/format";
import { locale, t } from "../../strings";

type Bar = { day: string; usd: number; asks: number };

const short = (day: string) =>
  new Date(`${day}T12:00:00Z`).toLocaleDateString(locale, { day: "numeric", month: "short" });

export default function DayChart({ bars }: { bars: Bar[] }) {
  return (
    <BarChart
      h={220}
      data={bars.map((one) => ({ ...one, day: short(one.day) }))}
      dataKey="day"
      series={[{ name: "usd", label: t.costs.cost, color: "spring.6" }]}
      valueFormatter={formatUsd}
      tickLine="none"
      gridAxis="x"
      maxBarWidth={36}
      yAxisProps={{ width: 72 }}
      barProps={{ radius: [4, 4, 0, 0] }}
    />
  );
}
