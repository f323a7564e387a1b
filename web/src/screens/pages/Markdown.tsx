// A page's Markdown as React elements. Text never becomes HTML.

import {
  Anchor,
  Blockquote,
  Code,
  Divider,
  List,
  Table,
  Text,
  Title,
  type TitleOrder,
} from "@mantine/core";
import { Fragment, useMemo } from "react";
import { escapeInvisible } from "../../kit/format";
import { type Block, type Inline, normalizeHeadings, parseBlocks } from "./markdown";
import { t } from "../../strings";

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => normalizeHeadings(parseBlocks(text)), [text]);
  return <Blocks blocks={blocks} />;
}

function Blocks({ blocks }: { blocks: Block[] }) {
  return blocks.map((block, at) => <One key={at} block={block} />);
}

function One({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading": {
      const order = block.level as TitleOrder;
      return (
        <Title order={order} size={`h${Math.min(6, order + 1)}`} mt="lg" mb="xs">
          <Line of={block.children} />
        </Title>
      );
    }
    case "paragraph":
      return (
        <Text mb="sm" className="wrap-anywhere" style={{ whiteSpace: "pre-line" }}>
          <Line of={block.children} />
        </Text>
      );
    case "code":
      return (
        <Code
          block
          mb="sm"
          tabIndex={0}
          role="region"
          aria-label={block.language ? t.pages.code(block.language) : t.pages.code2}
        >
          {escapeInvisible(block.text)}
        </Code>
      );
    case "quote":
      return (
        <Blockquote mb="sm" p="md" color="gray">
          <Blocks blocks={block.blocks} />
        </Blockquote>
      );
    case "list":
      return (
        <List
          type={block.ordered ? "ordered" : "unordered"}
          start={block.start}
          mb="sm"
          withPadding
        >
          {block.items.map((item, at) => (
            <List.Item key={at}>
              <Item blocks={item} />
            </List.Item>
          ))}
        </List>
      );
    case "table":
      return <Cells head={block.head} rows={block.rows} />;
    case "rule":
      return <Divider my="lg" />;
  }
}

/** A list item without paragraph spacing. */
function Item({ blocks }: { blocks: Block[] }) {
  return blocks.map((block, at) =>
    block.kind === "paragraph"
      ? (
        <Text key={at} span className="wrap-anywhere">
          <Line of={block.children} />
        </Text>
      )
      : <One key={at} block={block} />
  );
}

function Cells({ head, rows }: { head: Inline[][]; rows: Inline[][][] }) {
  return (
    <Table.ScrollContainer
      minWidth={0}
      mb="sm"
      scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
    >
      <Table withTableBorder withColumnBorders w="auto">
        <Table.Thead>
          <Table.Tr>
            {head.map((cell, at) => (
              <Table.Th key={at}>
                <Line of={cell} />
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, at) => (
            <Table.Tr key={at}>
              {row.map((cell, index) => (
                <Table.Td key={index}>
                  <Line of={cell} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Line({ of }: { of: Inline[] }) {
  return of.map((one, at) => (
    <Fragment key={at}>
      <Piece of={one} />
    </Fragment>
  ));
}

function Piece({ of: one }: { of: Inline }) {
  switch (one.kind) {
    case "text":
      return escapeInvisible(one.text);
    case "code":
      return <Code>{escapeInvisible(one.text)}</Code>;
    case "strong":
      return (
        <strong>
          <Line of={one.children} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Line of={one.children} />
        </em>
      );
    case "strike":
      return (
        <s>
          <Line of={one.children} />
        </s>
      );
    case "link":
      return (
        <Anchor
          href={one.href}
          target="_blank"
          rel="noreferrer noopener"
          underline="always"
          inherit
        >
          <Line of={one.children} />
        </Anchor>
      );
  }
}
