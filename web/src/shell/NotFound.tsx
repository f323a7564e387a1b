import { Button, Container } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { Empty } from "../kit/Empty";

export function NotFound() {
  return (
    <Container size="sm" pt="xl" component="main">
      <Empty
        icon={Compass}
        title="There is nothing at this address"
        actions={<Button component={Link} to="/">Go to the start</Button>}
      >
        It may have been moved or removed, or the address was cut short.
      </Empty>
    </Container>
  );
}
