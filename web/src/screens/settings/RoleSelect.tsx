// A role picker, with the permissions of each.

import { Box, Select, type SelectProps, Text } from "@mantine/core";
import type { Role } from "../../api/session";
import { capitalize, escapeInvisible } from "../../kit/format";
import { ROLE_DESCRIPTIONS } from "./roles";

type Props = Omit<SelectProps, "data" | "value" | "onChange"> & {
  roles: Role[];
  value: Role;
  onChange: (role: Role) => void;
};

export function RoleSelect({ roles, value, onChange, ...rest }: Props) {
  return (
    <Select
      {...rest}
      allowDeselect={false}
      value={value}
      onChange={(role) => role && onChange(role as Role)}
      data={roles.map((role) => ({ value: role, label: capitalize(role) }))}
      comboboxProps={{ width: 320, position: "bottom-end" }}
      renderOption={({ option }) => (
        <Box>
          <Text size="sm" fw={600}>{escapeInvisible(option.label)}</Text>
          <Text size="xs" c="dimmed">{ROLE_DESCRIPTIONS[option.value as Role]}</Text>
        </Box>
      )}
    />
  );
}
