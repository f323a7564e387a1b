// The texts of the page in English. Its type is the type of every other language.

import { api } from "./en/api";
import { audit } from "./en/audit";
import { auditActions } from "./en/auditActions";
import { automation } from "./en/automation";
import { automations } from "./en/automations";
import { boards } from "./en/boards";
import { codex } from "./en/codex";
import { connect } from "./en/connect";
import { costs } from "./en/costs";
import { counts } from "./en/counts";
import { create } from "./en/create";
import { edit } from "./en/edit";
import { form } from "./en/form";
import { format } from "./en/format";
import { health } from "./en/health";
import { home } from "./en/home";
import { inbox } from "./en/inbox";
import { integrations } from "./en/integrations";
import { kit } from "./en/kit";
import { models } from "./en/models";
import { oauth } from "./en/oauth";
import { pages } from "./en/pages";
import { previews } from "./en/previews";
import { proposal } from "./en/proposal";
import { review } from "./en/review";
import { run } from "./en/run";
import { runs } from "./en/runs";
import { secrets } from "./en/secrets";
import { settings } from "./en/settings";
import { shell } from "./en/shell";
import { signIn } from "./en/signIn";
import { terminal } from "./en/terminal";
import { words } from "./en/words";
import { workflows } from "./en/workflows";

export const en = {
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
