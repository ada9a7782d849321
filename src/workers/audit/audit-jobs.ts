import type { Work } from '../supervise.ts';
import { type AskWitnesses, askWitnesses, type Witness } from './ask-witnesses.ts';
import { type CheckTreesNightly, checkTreesNightly } from './check-trees-nightly.ts';
import { type MailCheckpoints, mailCheckpoints } from './mail-checkpoints.ts';
import { type SignCheckpoints, signCheckpoints } from './sign-checkpoints.ts';

/** Automatic jobs of the audit log: signing, cosigning, mailing and checking. */

export interface AuditWork {
  /** Queries of the audit trees, and how often they are signed. Absent: nothing is signed. */
  readonly audit?: Pick<SignCheckpoints, 'intervalMs'> & {
    readonly trees: SignCheckpoints['trees'] & AskWitnesses['trees'] & MailCheckpoints['trees'];
    /** Those who are asked to cosign, and the way to them. */
    readonly witnesses: readonly Witness[];
    readonly way: AskWitnesses['way'];
  };
  /** How the audit trees are checked, and when. Absent: they are not. */
  readonly auditCheck?: Pick<CheckTreesNightly, 'hour' | 'check' | 'onChecked'>;
}

type Parts = Omit<SignCheckpoints, 'trees' | 'intervalMs'> & Omit<MailCheckpoints, 'trees' | 'everyMs'>;

/** How often each witness's new checkpoints are looked for: a query. Longer leaves them in the operator's hands alone. */
const ASK_WITNESSES_MS = 5_000;

/** By name. */
export const auditJobs = (parts: Parts, { audit, auditCheck }: AuditWork): Readonly<Record<string, Work>> => {
  const jobs: Record<string, Work> = {};
  if (audit !== undefined) {
    const { trees, intervalMs, witnesses, way } = audit;
    jobs['signing of checkpoints'] = signCheckpoints({ ...parts, trees, intervalMs });
    jobs['mail of checkpoints'] = mailCheckpoints({ ...parts, trees });
    const asking = { ...parts, trees, way, everyMs: Math.min(intervalMs, ASK_WITNESSES_MS) };
    Object.assign(jobs, askWitnesses(asking, witnesses));
  }
  if (auditCheck !== undefined) jobs['check of audit trees'] = checkTreesNightly({ ...parts, ...auditCheck });
  return jobs;
};
