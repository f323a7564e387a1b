// The theme: a warm neutral background and a green accent, light and dark.

import {
  createTheme,
  defaultVariantColorsResolver,
  Drawer,
  type MantineColorsTuple,
  Modal,
  NativeSelect,
  Notification,
  Select,
} from "@mantine/core";
import { t } from "./strings";

const spring: MantineColorsTuple = [
  "#e6f5f2",
  "#cfe9e4",
  "#a0d3ca",
  "#6dbdaf",
  "#44aa99",
  "#2a9e8b",
  "#0f8475",
  "#0b6b62",
  "#07584f",
  "#03443d",
];

const dark: MantineColorsTuple = [
  "#e8ecee",
  "#c9d0d4",
  "#a9b3b9",
  "#7e8a92",
  "#4b565d",
  "#343d43",
  "#262d32",
  "#1d2327",
  "#14181b",
  "#0e1113",
];

// The default tints of other colours have too little contrast on their own background.
const readable = (color: string) =>
  `light-dark(color-mix(in srgb, var(--mantine-color-${color}-9), black 35%), var(--mantine-color-${color}-2))`;

export const theme = createTheme({
  primaryColor: "spring",
  primaryShade: { light: 7, dark: 7 },
  colors: { spring, dark },
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace:
    "ui-monospace, 'SF Mono', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, monospace",
  headings: { fontFamily: "'Inter Variable', system-ui, sans-serif", fontWeight: "650" },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  variantColorResolver: (input) => {
    const usual = defaultVariantColorsResolver(input);
    const tinted = input.variant === "light" || input.variant === "subtle" ||
      input.variant === "transparent" || input.variant === "outline";
    if (!tinted || !input.color || !/^[a-z]+$/.test(input.color)) return usual;
    if (input.color === "white" || input.color === "black" || input.color === "dimmed") {
      return usual;
    }
    return { ...usual, color: readable(input.color) };
  },
  // An icon-only close button needs a label for screen readers.
  components: {
    // The direction of a selected name comes from the name itself.
    NativeSelect: NativeSelect.extend({ defaultProps: { dir: "auto" } }),
    Select: Select.extend({ defaultProps: { dir: "auto" } }),
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { "aria-label": t.kit.close } } }),
    Drawer: Drawer.extend({ defaultProps: { closeButtonProps: { "aria-label": t.kit.close } } }),
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { "aria-label": t.kit.close } },
    }),
  },
});
