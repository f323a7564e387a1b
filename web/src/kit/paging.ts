// Cursor pagination for `api.useInfiniteQuery`.

/** The first page has no cursor; each page has the cursor of the next one, or null. */
export const byCursor = {
  pageParamName: "cursor",
  initialPageParam: null as string | null,
  getNextPageParam: (last: { next?: string | null }) => last.next ?? undefined,
};
