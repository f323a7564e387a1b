// An answer as it was sent, letter by letter: for what is shown as exact, and for what would be
// changed by being read.

import { useQuery } from "@tanstack/react-query";
import { client } from "./client";

async function read(path: string): Promise<string> {
  // The description knows this address with names in it; here it is whole already.
  const { data } = await client.GET(path as never, { parseAs: "text" } as never);
  return data as unknown as string;
}

const asItIs = (text: string) => text;

type Options<T> = { enabled?: boolean; select?: (text: string) => T };

/** It is asked for anew by each screen: what is exact must not be from before. */
export function useWritten<T = string>(path: string, options: Options<T> = {}) {
  const { enabled = true, select = asItIs as (text: string) => T } = options;
  const queryFn = () => read(path);
  return useQuery({ queryKey: ["written", path], queryFn, enabled, select, gcTime: 0 });
}
