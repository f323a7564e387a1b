// The rule-based description of an automation: the sentences shown before consent.

import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client } from "../../api/client";
import { escapeInvisible } from "../../kit/format";

/** Empty while loading, or if the rules cannot describe it: the plan is shown below. */
export function Description({ id, version }: { id: string; version: number }) {
  const answer = useQuery({
    queryKey: ["review", id, version],
    staleTime: Infinity,
    queryFn: async () => {
      const body = { automation_id: id, by: "rules" as const };
      const { data } = await client.POST("/api/v1/reviews", { body });
      return data?.review?.summary ?? "";
    },
    retry: false,
  });
  return answer.data ? <Text mb="sm">{escapeInvisible(answer.data)}</Text> : null;
}
