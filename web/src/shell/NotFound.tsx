import { Button, Container } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { Empty } from "../kit/Empty";
import { t } from "../strings";

export function NotFound() {
  return (
    <Container size="sm" pt="xl" component="main">
      <Empty
        icon={Compass}
        title={t.shell.pageNotFound}
        actions={<Button component={Link} to="/">{t.shell.goToHome}</Button>}
      >
        {t.shell.itMayHaveBeenMoved}
      </Empty>
    </Container>
  );
}
