// The rows of one dataset in one view, fetched on scroll.

import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { client } from "../../api/client";
import { isLooking, type Row, type RowView, viewQuery } from "./rows";
import { type Load, RowWindows } from "./rowWindows";

// Unsorted rows are cheap; searching or sorting makes the server scan all of them.
const IN_PLACE = 200;
const LOOKED_FOR = 1000;

/** One window, also if a server page ends early because its rows are large. */
export function loadRows(boardId: string, dataset: string, look: RowView): Load {
  return async (offset, limit, signal) => {
    const rows: Row[] = [];
    let total = 0;
    let more = false;
    while (rows.length < limit) {
      const { data } = await client.GET("/api/v1/boards/{board_id}/rows", {
        params: {
          path: { board_id: boardId },
          query: {
            dataset,
            offset: offset + rows.length,
            limit: limit - rows.length,
            ...viewQuery(look),
          },
        },
        signal,
      });
      const page = data?.data.datasets[dataset];
      if (!page) break;
      rows.push(...page.rows as unknown as Row[]);
      total = page.total;
      more = page.more_than_total ?? false;
      if (page.next_offset === null || page.next_offset === undefined) break;
    }
    return { rows, total, more };
  };
}

export function useRows(boardId: string, dataset: string, look: RowView): RowWindows {
  const text = JSON.stringify(look);
  const windows = useMemo(() => {
    const view = JSON.parse(text) as RowView;
    return new RowWindows(
      loadRows(boardId, dataset, view),
      isLooking(view) ? LOOKED_FOR : IN_PLACE,
      isLooking(view) ? 12 : 40,
      isLooking(view) ? 120 : 40,
    );
  }, [boardId, dataset, text]);
  const before = useRef<RowWindows | null>(null);
  useEffect(() => {
    before.current?.stop();
    before.current = windows;
    windows.setVisibleRange(0, 60);
    return () => windows.stop();
  }, [windows]);
  useSyncExternalStore(windows.subscribe, () => windows.version);
  return windows;
}
