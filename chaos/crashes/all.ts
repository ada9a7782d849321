import type { Scenario } from '../harness/scenario.ts';
import { ADMINISTRATION_CRASHES } from './administration.ts';
import { CRASHES_AGAIN } from './again.ts';
import { DESTINATION_CRASHES } from './destinations.ts';
import { EVENTSTOREDB_CRASHES } from './eventstoredb.ts';
import { FAIL_POINT_CRASHES } from './fail-points.ts';
import { POWER_CUTS } from './power-cuts.ts';
import { RETURNED_MAIL_CRASHES } from './returned-mail.ts';
import { ROLE_CRASHES } from './roles.ts';
import { SMTP_CRASHES } from './smtp-points.ts';
import { SUBMISSION_CRASHES } from './submission.ts';
import { SUPPRESSION_CRASHES } from './suppressions.ts';
import { WINDOW } from './window.ts';

/** Processes that die: where, which, and what with them. */
export const CRASHES: readonly Scenario[] = [
  ...FAIL_POINT_CRASHES,
  ...SMTP_CRASHES,
  ...WINDOW,
  ...ROLE_CRASHES,
  ...POWER_CUTS,
  ...EVENTSTOREDB_CRASHES,
  ...ADMINISTRATION_CRASHES,
  ...CRASHES_AGAIN,
  ...SUPPRESSION_CRASHES,
  ...DESTINATION_CRASHES,
  ...RETURNED_MAIL_CRASHES,
  ...SUBMISSION_CRASHES,
];
