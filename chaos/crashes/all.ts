import type { Scenario } from '../harness/scenario.ts';
import { ADMINISTRATION_CRASHES } from './administration.ts';
import { CRASHES_AGAIN } from './again.ts';
import { AUDIT_CRASHES } from './audit-checkpoints.ts';
import { COSIGNATURE_CRASHES } from './cosignatures.ts';
import { DESTINATION_CRASHES } from './destinations.ts';
import { DESTROYED_KEY_CRASHES } from './destroyed-keys.ts';
import { ENGAGEMENT_CRASHES } from './engagements.ts';
import { EVENTSTOREDB_CRASHES } from './eventstoredb.ts';
import { FAIL_POINT_CRASHES } from './fail-points.ts';
import { FIRST_START_CRASHES } from './first-start.ts';
import { HOLD_CRASHES } from './holds.ts';
import { INBOUND_MAIL_CRASHES } from './inbound-mail.ts';
import { RETURNED_MAIL_CRASHES } from './inbound-reports.ts';
import { INVOICE_CRASHES } from './invoices.ts';
import { MAIL_SETTINGS_CRASHES } from './mail-settings.ts';
import { POWER_CUTS } from './power-cuts.ts';
import { REPUTATION_CRASHES } from './reputation.ts';
import { RETENTION_CRASHES } from './retention.ts';
import { ROLE_CRASHES } from './roles.ts';
import { SMTP_CRASHES } from './smtp-points.ts';
import { SUBMISSION_CRASHES } from './submission.ts';
import { SUPPRESSION_CRASHES } from './suppressions.ts';
import { TEMPLATE_CRASHES } from './templates.ts';
import { WARM_UP_CRASHES } from './warm-ups.ts';
import { WEBHOOK_REPLAY_CRASHES } from './webhook-replays.ts';
import { WINDOW } from './window.ts';

/** Crash scenarios: processes killed at every fault injection point, alone or with the database. */
export const CRASHES: readonly Scenario[] = [
  ...FAIL_POINT_CRASHES,
  ...SMTP_CRASHES,
  ...WINDOW,
  ...ROLE_CRASHES,
  ...POWER_CUTS,
  ...EVENTSTOREDB_CRASHES,
  ...ADMINISTRATION_CRASHES,
  ...FIRST_START_CRASHES,
  ...CRASHES_AGAIN,
  ...SUPPRESSION_CRASHES,
  ...ENGAGEMENT_CRASHES,
  ...DESTINATION_CRASHES,
  ...RETURNED_MAIL_CRASHES,
  ...INBOUND_MAIL_CRASHES,
  ...SUBMISSION_CRASHES,
  ...HOLD_CRASHES,
  ...WARM_UP_CRASHES,
  ...REPUTATION_CRASHES,
  ...DESTROYED_KEY_CRASHES,
  ...RETENTION_CRASHES,
  ...INVOICE_CRASHES,
  ...AUDIT_CRASHES,
  ...COSIGNATURE_CRASHES,
  ...MAIL_SETTINGS_CRASHES,
  ...TEMPLATE_CRASHES,
  ...WEBHOOK_REPLAY_CRASHES,
];
