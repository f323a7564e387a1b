// A response as raw text: for screens that show it byte for byte, and for JSON that parsing would
// change.

import { useQuery } from "@tanstack/react-query";
import { client } from "./client";

async function fetchText(path: string): Promise<string> {
  // The OpenAPI types have this path as a template; here its parameters are filled in.
  const { data } = await client.GET(path as never, { parseAs: "text" } as never);
  return data as unknown as string;
}

const asItIs = (text: string) => text;

type Options<T> = { enabled?: boolean; select?: (text: string) => T };

/** Never served from the cache: a raw response must be current. */
export function useRawResponse<T = string>(path: string, options: Options<T> = {}) {
  const { enabled = true, select = asItIs as (text: string) => T } = options;
  const queryFn = () => fetchText(path);
  return useQuery({ queryKey: ["written", path], queryFn, enabled, select, gcTime: 0 });
}
