// Models: connections, available models, and their prices.

import { Alert, Button, SimpleGrid, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Cpu, Info, Plus } from "lucide-react";
import { useState } from "react";
import { type Answer, api } from "../../api/client";
import { useHasRole } from "../../api/session";
import { QueryResult } from "../../kit/QueryResult";
import { CopyAs } from "../../kit/Copy";
import { Empty } from "../../kit/Empty";
import { PageHead } from "../../kit/PageHead";
import { ConnectForm } from "./ConnectForm";
import { ConnectionCard } from "./ConnectionCard";
import { ModelTable } from "./ModelTable";
import { t } from "../../strings";

export type Connection = Answer<"list_models">["connections"][number];

export default function Models() {
  const may = useHasRole("admin");
  const models = api.useQuery("get", "/api/v1/models");
  const [open, { open: show, close }] = useDisclosure(false);
  const [changed, setChanged] = useState<Connection | null>(null);
  const write = (connection: Connection | null) => {
    setChanged(connection);
    show();
  };
  const add = may
    ? (
      <Button leftSection={<Plus size={16} />} onClick={() => write(null)}>
        {t.models.connectAModel}
      </Button>
    )
    : null;
  return (
    <>
      <PageHead
        title={t.models.models}
        sub={t.models.modelsForAgentsAndFor}
        right={
          <>
            <CopyAs
              operations={[{
                label: t.models.listModels,
                operation: {
                  method: "GET",
                  path: "/api/v1/models",
                  tool: "list_models",
                },
              }]}
            />
            {add}
          </>
        }
      />
      <QueryResult of={models}>
        {({ connections, models: known, usual_model, note }) =>
          connections.length
            ? (
              <Stack gap="lg">
                {note
                  ? (
                    <Alert
                      variant="light"
                      color="yellow"
                      icon={<Info size={16} />}
                    >
                      {note}
                    </Alert>
                  )
                  : null}
                <SimpleGrid cols={{ base: 1, md: 2 }}>
                  {connections.map((one) => (
                    <ConnectionCard
                      key={one.name}
                      connection={one}
                      onChange={may && one.scope === "workspace" ? () => write(one) : null}
                    />
                  ))}
                </SimpleGrid>
                <ModelTable models={known} usual={usual_model} />
              </Stack>
            )
            : (
              <Empty icon={Cpu} title={t.models.noModelsConnected} actions={add}>
                {t.models.connectAnthropicOpenaiOrGroq}
              </Empty>
            )}
      </QueryResult>
      <ConnectForm opened={open} onClose={close} changed={changed} />
    </>
  );
}
