// One addition of a consent request, complete. A long one is folded until the person unfolds it.

import { Text } from "@mantine/core";
import { escapeInvisible } from "../kit/format";
import { foldAddition } from "./foldAddition";

export function AdditionText({ says }: { says: string }) {
  const { head, rest } = foldAddition(escapeInvisible(says));
  if (!rest) return <Text size="sm" className="wrap-anywhere">{head}</Text>;
  return (
    <details>
      <summary>
        <Text span size="sm" className="wrap-anywhere">{head} …</Text>
      </summary>
      <Text size="sm" className="wrap-anywhere">… {rest}</Text>
    </details>
  );
}
