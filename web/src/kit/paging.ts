// Long lists, a page at a time: how `api.useInfiniteQuery` asks for the next one.

/** The first page has no cursor; each page names the one of the next, or none. */
export const byCursor = {
  pageParamName: "cursor",
  initialPageParam: null as string | null,
  getNextPageParam: (last: { next?: string | null }) => last.next ?? undefined,
};
