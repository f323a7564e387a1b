// The editors are large, so they are lazy-loaded.

import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { importWhenReachable } from "../api/lazyImport";
import type { DiffProps } from "./Diff";
import type { EditorProps } from "./Editor";
import type { TemplateProps } from "./Template";

const LazyEditor = lazy(importWhenReachable(() => import("./Editor")));
const LazyDiff = lazy(importWhenReachable(() => import("./Diff")));
const LazyTemplate = lazy(importWhenReachable(() => import("./Template")));

export function CodeEditor(props: EditorProps) {
  return (
    <Suspense fallback={<Skeleton height={160} />}>
      <LazyEditor {...props} />
    </Suspense>
  );
}

export function Diff(props: DiffProps) {
  return (
    <Suspense fallback={<Skeleton height={160} />}>
      <LazyDiff {...props} />
    </Suspense>
  );
}

export function TemplateEditor(props: TemplateProps) {
  return (
    <Suspense fallback={<Skeleton height={36} />}>
      <LazyTemplate {...props} />
    </Suspense>
  );
}
