// The empty state of a dataset: how to add rows.

import { Rows3 } from "lucide-react";
import { Empty } from "../../kit/Empty";

export function NoRows({ mayEdit, filled }: { mayEdit: boolean; filled: boolean }) {
  return (
    <Empty icon={Rows3} title="No rows yet">
      {filled
        ? "A link fills this dataset. Refresh it under Links, or wait for its schedule."
        : mayEdit
        ? "Add a row above, fill in a form of the board, let an automation append rows with append_board_rows, or follow something outside under Links."
        : "Rows come from automations, from links and from people who may write here."}
    </Empty>
  );
}
