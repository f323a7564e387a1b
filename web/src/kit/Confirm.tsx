// A confirmation dialog for actions that cannot be undone.

import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from "react";
import { t } from "../strings";

type Question = { title: string; message: ReactNode; yes: string; dangerous?: boolean };
type Ask = (question: Question) => Promise<boolean>;

const Context = createContext<Ask>(() => Promise.resolve(false));
/** `const confirm = useConfirm(); if (await confirm({ title, message, yes })) …` */
export const useConfirm = () => useContext(Context);

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [question, setQuestion] = useState<Question | null>(null);
  const answer = useRef<(yes: boolean) => void>(() => {});
  const ask = useCallback<Ask>((asked) => {
    setQuestion(asked);
    return new Promise((resolve) => {
      answer.current = resolve;
    });
  }, []);
  const close = (yes: boolean) => {
    answer.current(yes);
    setQuestion(null);
  };
  return (
    <Context.Provider value={ask}>
      {children}
      <Modal
        opened={question !== null}
        onClose={() => close(false)}
        title={question?.title}
        centered
      >
        {question
          ? (
            <Stack>
              <Text size="sm" component="div">{question.message}</Text>
              <Group justify="flex-end" gap="xs">
                <Button variant="default" onClick={() => close(false)}>{t.kit.cancel}</Button>
                <Button
                  color={question.dangerous ? "red.9" : undefined}
                  onClick={() => close(true)}
                  data-autofocus
                >
                  {question.yes}
                </Button>
              </Group>
            </Stack>
          )
          : null}
      </Modal>
    </Context.Provider>
  );
}
