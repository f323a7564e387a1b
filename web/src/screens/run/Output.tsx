// The output of a script, streamed line by line; each line has its own URL fragment.

import { Button, Group, Text } from "@mantine/core";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { CopyIcon } from "../../kit/Copy";
import { escapeInvisible } from "../../kit/format";
import { writeLine } from "./keys";
import type { Line } from "./stepOutput";
import { locale, t } from "../../strings";

// More lines than this are shown only on request.
const SHOWN = 1_000;

type Props = {
  lines: Line[];
  stepKey: string;
  chosen: number | null;
  choose: (line: number) => void;
};

export function Output({ lines, stepKey, chosen, choose }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const follows = useRef(chosen === null);
  const [all, setAll] = useState(false);
  const first = all || (chosen !== null && chosen <= lines.length - SHOWN)
    ? 0
    : Math.max(0, lines.length - SHOWN);
  useLayoutEffect(() => {
    const box = place.current;
    if (box && follows.current) box.scrollTop = box.scrollHeight;
  }, [lines.length]);
  const isThere = chosen !== null && chosen <= lines.length;
  useEffect(() => {
    if (isThere) place.current?.querySelector(".chosen")?.scrollIntoView({ block: "center" });
  }, [chosen, isThere]);
  return (
    <>
      <Group justify="space-between" mb={4}>
        <Text size="xs" c="dimmed">{t.run.redLinesWereWrittenTo}</Text>
        <CopyIcon
          text={lines.map((line) => line.text).join("\n")}
          label={t.run.copyOutput}
        />
      </Group>
      {first > 0
        ? (
          <Button size="compact-xs" variant="subtle" onClick={() => setAll(true)}>
            {t.run.showThePreviousLines(first.toLocaleString(locale))}
          </Button>
        )
        : null}
      <div
        className="run-lines"
        ref={place}
        tabIndex={0}
        role="log"
        aria-label={t.run.output}
        onScroll={({ currentTarget: box }) => {
          follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
        }}
      >
        {lines.slice(first).map((line) => (
          <div
            key={line.number}
            className={`run-line ${line.stream}${line.number === chosen ? " chosen" : ""}`}
          >
            <a
              href={writeLine(stepKey, line.number)}
              aria-label={t.run.line(line.number)}
              onClick={(event) => {
                event.preventDefault();
                choose(line.number);
              }}
            >
              {line.number}
            </a>
            <span>{escapeInvisible(line.text)}</span>
          </div>
        ))}
      </div>
    </>
  );
}
