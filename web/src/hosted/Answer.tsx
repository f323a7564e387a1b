// What a run answers to the person who sent the form: values, a text, or a page without scripts.

import { Card, Text } from "@mantine/core";
import type { FormAnswer } from "./submission";
import { t } from "../strings";

export const isHtml = ({ content_type }: FormAnswer) => /^text\/html\b/i.test(content_type ?? "");

export function Answer({ answer }: { answer: FormAnswer }) {
  if (answer.text !== null && isHtml(answer)) {
    return <iframe className="answer" title={t.hosted.result} sandbox="" srcDoc={answer.text} />;
  }
  const { body } = answer;
  const text = answer.text ??
    (typeof body === "string" ? body : body == null ? "" : JSON.stringify(body, null, 2));
  if (!text) return null;
  const isText = answer.text !== null || typeof body === "string";
  return (
    <Card withBorder radius="lg" p="lg" component="section" aria-label={t.hosted.result}>
      <Text className={isText ? "paragraph" : "paragraph mono"}>{text}</Text>
    </Card>
  );
}
