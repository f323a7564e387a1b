// A value that is shown once: a token, or a link.

import { Alert, Box, Code, Group, Stack, Text } from "@mantine/core";
import { KeyRound } from "lucide-react";
import type { ReactNode } from "react";
import { CopyButton } from "../../kit/Copy";
import { t } from "../../strings";

type Props = {
  title: string;
  description?: ReactNode;
  text: string;
  label: string;
  children?: ReactNode;
  onClose: () => void;
};

export function ShownOnce({ title, description, text, label, children, onClose }: Props) {
  return (
    <Alert
      color="teal"
      variant="light"
      icon={<KeyRound size={16} />}
      title={title}
      role="status"
      withCloseButton
      closeButtonLabel={t.settings.iStoredIt}
      onClose={onClose}
    >
      <Stack gap="sm">
        {description ? <Text size="sm" component="div">{description}</Text> : null}
        <Group gap="xs" wrap="wrap">
          <Box style={{ minWidth: 0, flex: "1 1 18rem" }}>
            <Code
              block
              className="wrap-anywhere"
              style={{ whiteSpace: "pre-wrap" }}
              aria-label={label}
            >
              {text}
            </Code>
          </Box>
          <CopyButton text={text} />
        </Group>
        {children}
      </Stack>
    </Alert>
  );
}
