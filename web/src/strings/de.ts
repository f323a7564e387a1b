// The texts of the page in German.

import type { Strings } from ".";
import { api } from "./de/api";
import { audit } from "./de/audit";
import { auditActions } from "./de/auditActions";
import { automation } from "./de/automation";
import { automations } from "./de/automations";
import { boards } from "./de/boards";
import { codex } from "./de/codex";
import { connect } from "./de/connect";
import { costs } from "./de/costs";
import { counts } from "./de/counts";
import { create } from "./de/create";
import { edit } from "./de/edit";
import { form } from "./de/form";
import { format } from "./de/format";
import { health } from "./de/health";
import { home } from "./de/home";
import { hosted } from "./de/hosted";
import { inbox } from "./de/inbox";
import { integrations } from "./de/integrations";
import { kit } from "./de/kit";
import { models } from "./de/models";
import { oauth } from "./de/oauth";
import { pages } from "./de/pages";
import { previews } from "./de/previews";
import { proposal } from "./de/proposal";
import { review } from "./de/review";
import { run } from "./de/run";
import { runs } from "./de/runs";
import { secrets } from "./de/secrets";
import { settings } from "./de/settings";
import { shell } from "./de/shell";
import { signIn } from "./de/signIn";
import { terminal } from "./de/terminal";
import { words } from "./de/words";
import { workflows } from "./de/workflows";

export const de: Strings = {
  api,
  audit,
  auditActions,
  automation,
  automations,
  boards,
  codex,
  connect,
  costs,
  counts,
  create,
  edit,
  form,
  format,
  health,
  home,
  hosted,
  inbox,
  integrations,
  kit,
  models,
  oauth,
  pages,
  previews,
  proposal,
  review,
  run,
  runs,
  secrets,
  settings,
  shell,
  signIn,
  terminal,
  words,
  workflows,
};
