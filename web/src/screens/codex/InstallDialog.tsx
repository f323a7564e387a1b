// Installing a recipe: its settings, and then the result.

import {
  Alert,
  Anchor,
  Button,
  Card,
  List,
  NumberInput,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { type Answer, client, refresh } from "../../api/client";
import { byPointer, Problem } from "../../api/problem";
import { useHasRole } from "../../api/session";
import { ProblemNote } from "../../kit/QueryResult";
import { beginnings, initialValues, placeOf, type Setting, type Value } from "./recipes";
import type { Published } from "./Recipe";
import { escapeInvisible } from "../../kit/format";
import { t } from "../../strings";

type InstallResult = Answer<"apply_starter_recipe">;

export function InstallDialog({ recipe, problems }: { recipe: Published; problems: string[] }) {
  const may = useHasRole("editor");
  const [made, setMade] = useState<InstallResult | null>(null);
  if (made) return <Installed made={made} />;
  if (!may) return <Text size="sm" c="dimmed">{t.codex.yourRoleCannotInstallRecipes}</Text>;
  return (
    <Card withBorder radius="lg" p="lg">
      {problems.map((one) => (
        <Alert
          key={one}
          color="yellow"
          variant="light"
          icon={<TriangleAlert size={16} />}
          mb="sm"
        >
          {one}
        </Alert>
      ))}
      <InstallForm recipe={recipe} onMade={setMade} />
    </Card>
  );
}

function InstallForm(
  { recipe, onMade }: { recipe: Published; onMade: (made: InstallResult) => void },
) {
  const settings = recipe.settings ?? [];
  const [values, setValues] = useState(() => beginnings(settings));
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const errors = problem instanceof Problem ? byPointer(problem.findings) : {};
  const atFields = settings.some((one) => errors[`/overrides/settings/${one.name}`]);
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const settingValues = initialValues(settings, values);
      const { data } = await client.POST("/api/v1/recipes/{slug}/apply", {
        params: { path: { slug: recipe.slug } },
        body: Object.keys(settingValues).length
          ? { overrides: { settings: settingValues as Record<string, never> } }
          : {},
      });
      await refresh(
        "/api/v1/installs",
        "/api/v1/recipes",
        "/api/v1/automations",
        "/api/v1/boards",
        "/api/v1/workflows",
      );
      if (data) onMade(data);
    } catch (refusal) {
      setProblem(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      aria-label={t.codex.install(recipe.name)}
      autoComplete="off"
    >
      <Stack>
        <Text component="h2" fw={650}>{settings.length ? t.codex.settings : t.codex.install2}</Text>
        {settings.length
          ? <Text size="sm" c="dimmed">{t.codex.theRecipeUsesTheseValues}</Text>
          : null}
        {settings.map((one) => (
          <SettingField
            key={one.name}
            one={one}
            value={values[one.name] ?? ""}
            error={errors[`/overrides/settings/${one.name}`]}
            onChange={(value) => setValues((before) => ({ ...before, [one.name]: value }))}
          />
        ))}
        {problem && !atFields ? <ProblemNote problem={problem} /> : null}
        <Button type="submit" loading={busy} w="fit-content">{t.codex.install2}</Button>
      </Stack>
    </form>
  );
}

type FieldProps = { one: Setting; value: Value; error?: string; onChange: (value: Value) => void };

function SettingField({ one, value, error, onChange }: FieldProps) {
  const required = one.type !== "boolean" && one.required !== false && one.default === undefined;
  const shared = { label: one.label ?? one.name, error, required };
  if (one.type === "boolean") {
    return (
      <Switch
        {...shared}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (one.type === "number") {
    return <NumberInput {...shared} value={value as string | number} onChange={onChange} />;
  }
  return (
    <TextInput
      {...shared}
      maxLength={2000}
      value={String(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function Installed({ made }: { made: InstallResult }) {
  const all = [made.created, ...(made.cascade_installed ?? [])];
  const automation = all.find((one) => one.kind === "automation");
  return (
    <Alert
      color="teal"
      variant="light"
      icon={<CircleCheck size={18} />}
      title={t.codex.installed}
      role="status"
    >
      <List size="sm" mb="xs">
        {all.map((one) => {
          const place = placeOf(one);
          return (
            <List.Item key={one.id}>
              {place
                ? <Anchor component={Link} to={place} size="sm">{escapeInvisible(one.name)}</Anchor>
                : one.name}, {one.kind}
            </List.Item>
          );
        })}
      </List>
      {automation
        ? (
          <>
            <Text size="sm" mb="sm">{t.codex.nothingRunsYetYouReview}</Text>
            <Button component={Link} to={`/automations/${automation.id}`}>
              {t.codex.reviewAndActivate}
            </Button>
          </>
        )
        : t.codex.installed3}
    </Alert>
  );
}
