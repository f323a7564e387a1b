// The timeline: one row per step, with its attempts and waits on one time scale.

import { Card, Group, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, Flag } from "lucide-react";
import { memo, useEffect, useRef } from "react";
import { escapeInvisible, formatDuration } from "../../kit/format";
import { ActionIcon, describeStatus, SEGMENT_LABELS, StatusIcon } from "./icons";
import { type Row, rowDuration, type Segment, type SegmentKind } from "./timeline";
import { t } from "../../strings";

const HEIGHT = 36;

type Scale = { from: number; to: number };
type Props = {
  rows: Row[];
  /** The row of the whole run, above its steps. */
  whole: Row;
  scale: Scale;
  chosen: string | null;
  choose: (key: string | null) => void;
  isOpen: (key: string) => boolean;
  fold: (key: string) => void;
};

/** A short duration for a narrow column. */
const brief = (seconds: number) => formatDuration(seconds).split(" ").slice(0, 2).join(" ");

function Bar({ segments, scale }: { segments: Segment[]; scale: Scale }) {
  const whole = scale.to - scale.from;
  const percent = (at: number) =>
    `${Math.min(99.2, Math.max(0, (at - scale.from) / whole * 100))}%`;
  return (
    <span className="run-bar">
      {segments.map((one, at) => (
        <span
          key={at}
          className={`run-segment ${one.kind}${one.kind === "under_way" ? " pulse" : ""}`}
          title={`${SEGMENT_LABELS[one.kind]}: ${formatDuration((one.to - one.from) / 1000)}`}
          style={{
            left: percent(one.from),
            width: `${Math.max(0, (one.to - one.from) / whole * 100)}%`,
          }}
        />
      ))}
    </span>
  );
}

type RowProps = Pick<Props, "scale" | "choose"> & { row: Row; chosen: boolean };

function RowButton({ row, scale, chosen, choose }: RowProps) {
  const time = rowDuration(row);
  const tries = row.tries.length > 1 ? `, ${t.counts.tries(row.tries.length)}` : "";
  return (
    <button
      type="button"
      className="run-row"
      aria-current={chosen ? "true" : undefined}
      data-step={row.key}
      data-status={row.status}
      onClick={() => choose(row.key === "@run" ? null : row.key)}
    >
      <span className="run-name" style={{ paddingLeft: `calc(${row.depth} * var(--run-indent))` }}>
        <StatusIcon status={row.status} />
        {row.key === "@run" ? <Flag size={15} aria-hidden /> : <ActionIcon action={row.action} />}
        <span
          className="run-word"
          title={`${row.name}: ${describeStatus(row.status)}${tries}`}
        >
          {row.key === "@run" ? <strong>{escapeInvisible(row.name)}</strong> : row.name}
          {row.inside && !row.isItem
            ? <Text span c="dimmed" size="xs">{`  ×${row.inside}`}</Text>
            : null}
          {tries
            ? (
              <Text span c="dimmed" size="xs">
                {`  ${t.counts.tries(row.tries.length)}`}
              </Text>
            )
            : null}
        </span>
      </span>
      <Bar segments={row.segments} scale={scale} />
      <span className="run-span">{time === null ? "" : brief(time)}</span>
    </button>
  );
}

const Line = memo(RowButton);

function Fold({ row, open, fold }: { row: Row; open: boolean; fold: (key: string) => void }) {
  if (!row.inside) return <span className="run-fold" aria-hidden />;
  const Icon = open ? ChevronDown : ChevronRight;
  const label = t.run.hideTheStepsIn(open, row.name);
  return (
    <button
      type="button"
      className="run-fold"
      onClick={() => fold(row.key)}
      aria-expanded={open}
      aria-label={label}
    >
      <Icon size={14} aria-hidden />
    </button>
  );
}

const LEGEND: SegmentKind[] = ["queue", "work", "wait", "retry", "failed", "under_way"];

function Legend({ rows }: { rows: Row[] }) {
  const shown = new Set(rows.flatMap((row) => row.segments.map((one) => one.kind)));
  return (
    <Group gap="md" mt="sm" px={8}>
      {LEGEND.filter((kind) => shown.has(kind)).map((kind) => (
        <Group gap={6} key={kind}>
          <span className="run-bar" style={{ width: 16, height: 10 }}>
            <span
              className={`run-segment ${kind}`}
              style={{ left: 0, width: "100%" }}
            />
          </span>
          <Text size="xs" c="dimmed">{SEGMENT_LABELS[kind]}</Text>
        </Group>
      ))}
    </Group>
  );
}

export function Waterfall(props: Props) {
  const { rows, whole, scale, chosen, choose, isOpen, fold } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const all = [whole, ...rows];
  const folds = rows.some((row) => row.inside > 0);
  const virtual = useVirtualizer({
    count: all.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 12,
    getItemKey: (at) => all[at]?.key ?? at,
  });
  const place = chosen === null ? 0 : all.findIndex((row) => row.key === chosen);
  useEffect(() => {
    if (place > 0) virtual.scrollToIndex(place, { align: "auto" });
  }, [place]);
  const seconds = (scale.to - scale.from) / 1000;
  return (
    <Card
      withBorder
      radius="lg"
      p="sm"
      className="run-timeline"
      component="section"
      aria-label={t.run.timeline}
    >
      <div className="run-axis" aria-hidden style={{ paddingLeft: folds ? 32 : 8 }}>
        <span />
        <div>
          <span>0</span>
          <span>{brief(seconds / 2)}</span>
          <span>{brief(seconds)}</span>
        </div>
        <span />
      </div>
      <div className="run-scroll" ref={scroll}>
        <ol className="run-rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = all[index]!;
            return (
              <li
                className="run-item"
                key={key}
                style={{ top: start, height: HEIGHT }}
              >
                {folds ? <Fold row={row} open={isOpen(row.key)} fold={fold} /> : null}
                <Line
                  row={row}
                  scale={scale}
                  chosen={index === place}
                  choose={choose}
                />
              </li>
            );
          })}
        </ol>
      </div>
      <Legend rows={all} />
    </Card>
  );
}
