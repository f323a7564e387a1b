// What it does in plain words, told by rules: the same sentences that a person read before they
// agreed to it.

import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client } from "../../api/client";
import { visible } from "../../kit/words";

/** Nothing while it is not known yet, or where the rules cannot tell: the plan stands below. */
export function PlainWords({ id, version }: { id: string; version: number }) {
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
  return answer.data ? <Text mb="sm">{visible(answer.data)}</Text> : null;
}
