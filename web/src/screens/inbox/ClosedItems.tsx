// Closed items: expired, and answered.

import { Button, Stack } from "@mantine/core";
import { CheckCheck, Hourglass } from "lucide-react";
import { useState } from "react";
import { QueryResult } from "../../kit/QueryResult";
import { Empty } from "../../kit/Empty";
import { useDone, useExpired } from "./queries";
import { ItemList } from "./ItemList";
import { type Item, itemOf } from "./items";
import { Panes } from "./Panes";
import { Chosen, Elsewhere } from "./WaitingItems";
import { t } from "../../strings";

type Props = { chosen: string | undefined };
type ClosedListProps = Props & { items: Item[]; tab: string; label: string };

function ClosedList({ items, chosen, tab, label }: ClosedListProps) {
  const item = itemOf(items, chosen) ?? (chosen ? undefined : items[0]);
  return (
    <Panes
      isOpen={chosen !== undefined}
      tab={tab}
      list={<ItemList items={items} chosen={item?.id} tab={tab} label={label} />}
    >
      {item ? <Chosen item={item} onAnswered={() => {}} /> : <Elsewhere id={chosen!} />}
    </Panes>
  );
}

export function Expired(props: Props) {
  const query = useExpired(true);
  return (
    <QueryResult of={query as never}>
      {(items: Item[]) =>
        items.length || props.chosen
          ? <ClosedList {...props} items={items} tab="expired" label={t.inbox.expired} />
          : (
            <Empty icon={Hourglass} title={t.inbox.nothingExpired}>
              {t.inbox.aDraftThatNobodyAnswers}
            </Empty>
          )}
    </QueryResult>
  );
}

const STEP = 30;
const MOST = 200;

export function Done(props: Props) {
  const [limit, setLimit] = useState(STEP);
  const query = useDone(true, limit);
  return (
    <QueryResult of={query as never}>
      {(items: Item[]) =>
        items.length || props.chosen
          ? (
            <Stack>
              <ClosedList {...props} items={items} tab="done" label={t.inbox.answered} />
              {query.more && limit < MOST
                ? (
                  <div>
                    <Button
                      variant="default"
                      size="compact-sm"
                      onClick={() => setLimit((now) => Math.min(MOST, now * 2))}
                    >
                      {t.inbox.showMore}
                    </Button>
                  </div>
                )
                : null}
            </Stack>
          )
          : (
            <Empty icon={CheckCheck} title={t.inbox.nothingAnsweredYet}>
              {t.inbox.approvedAndDiscardedItemsStay}
            </Empty>
          )}
    </QueryResult>
  );
}
