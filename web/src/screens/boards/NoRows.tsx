// The empty state of a dataset: how to add rows.

import { Rows3 } from "lucide-react";
import { Empty } from "../../kit/Empty";
import { t } from "../../strings";

export function NoRows({ mayEdit, filled }: { mayEdit: boolean; filled: boolean }) {
  return (
    <Empty icon={Rows3} title={t.boards.noRowsYet2}>
      {filled
        ? t.boards.aLinkFillsThisDataset
        : mayEdit
        ? t.boards.addARowAboveFill
        : t.boards.rowsComeFromAutomationsLinks}
    </Empty>
  );
}
