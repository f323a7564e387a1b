// What a sign-in link does, for whom, and a button to use it.

import { Alert, Button, Stack, Text, Title } from "@mantine/core";
import { client, setCsrf } from "../../api/client";
import { isUnnamed, type Session } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { clearAll } from "../../kit/unsentInput";
import { useSubmit } from "../../kit/formErrors";
import { describe, type Link, whose } from "./links";
import { t } from "../../strings";

type Props = {
  link: Link;
  who: Session | null;
  onUse: () => Promise<void>;
  onSignInFirst: (text: string) => void;
};

const named = (user: Session["user"]) =>
  isUnnamed(user) ? t.signIn.theOwner : user.name || user.email;

export function LinkOffer({ link, who, onUse, onSignInFirst }: Props) {
  const { busy, refusal, send } = useSubmit();
  const same = who !== null && who.user.email.toLowerCase() === link.email.toLowerCase();
  const other = who !== null && !same;
  const first = link.sign_in_first && !same;
  const { title, text, action } = describe(link);
  const press = () =>
    send(async () => {
      if (other) {
        await client.DELETE("/api/v1/session");
        setCsrf(null);
        clearAll();
      }
      if (first) onSignInFirst(t.signIn.signInAsToJoin(link.email, link.workspace));
      else await onUse();
    });
  const next = first ? t.signIn.signInToJoin : action;
  return (
    <Stack>
      <Title order={1} size="h3" className="wrap-anywhere">{title}</Title>
      <Text size="sm" className="wrap-anywhere">{text}</Text>
      {other
        ? <Alert color="yellow" variant="light">{t.signIn.youAreSignedInAs(named(who.user))}</Alert>
        : null}
      {refusal.rest ? <ProblemNote problem={refusal.rest} /> : null}
      <Button onClick={() => void press()} loading={busy} data-autofocus>
        {other ? t.signIn.signOutAndContinueAs(whose(link)) : next}
      </Button>
      {other
        ? (
          <Button variant="default" onClick={() => location.replace("/")}>
            {t.signIn.staySignedInAs(named(who.user))}
          </Button>
        )
        : null}
    </Stack>
  );
}
