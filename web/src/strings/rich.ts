// A text with elements in it: rich`Open ${link} to see it.`

import { createElement, Fragment, type ReactNode } from "react";

export const rich = (texts: TemplateStringsArray, ...parts: ReactNode[]): ReactNode =>
  createElement(Fragment, null, ...texts.flatMap((text, at) => [text, parts[at]]));
