// A list and its selected item; on a phone one of them, with a back button.

import { Anchor, Box, Card } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import type { ReactNode } from "react";
import "./inbox.css";
import { t } from "../../strings";

type Props = {
  list: ReactNode;
  children: ReactNode;
  isOpen: boolean;
  tab: string | undefined;
  /** Whether keyboard shortcuts may answer the selected item. */
  answersKeys?: boolean;
};

export function Panes({ list, children, isOpen, tab, answersKeys }: Props) {
  return (
    <div className="panes" data-open={isOpen}>
      {list}
      <Box className="chosen" style={{ minWidth: 0 }}>
        <Anchor
          component={Link}
          to="/inbox"
          search={(tab ? { tab } : {}) as never}
          size="sm"
          className="back"
        >
          <ChevronLeft size={15} aria-hidden /> {t.inbox.backToTheList}
        </Anchor>
        <Card
          withBorder
          radius="lg"
          p={{ base: "md", sm: "xl" }}
          id="chosen"
          tabIndex={-1}
          component="section"
          aria-label={t.inbox.selectedItem}
          data-keys={answersKeys ? "answer" : undefined}
        >
          {children}
        </Card>
      </Box>
    </div>
  );
}
