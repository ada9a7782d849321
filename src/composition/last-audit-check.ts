import { z } from 'zod';
import type { Secrets } from '../domain/ports/secrets.ts';
import type { TreeCheckResult } from '../projections/audit/check/check-trees.ts';
import { putNote } from './open-operator.ts';

/** Vault row with what the last check of all audit trees found, for `outbox doctor`. */
const ROW = 'audit-check';

const schema = z.object({
  /** When it ended. ISO 8601. */
  at: z.string(),
  verdict: z.enum(['no fault', 'faults', 'undecided']),
  faults: z.number().int(),
  doubts: z.array(z.string()),
});

export type LastAuditCheck = Readonly<z.infer<typeof schema>>;

export const noteAuditCheck = (
  secrets: Secrets,
  at: Date,
  { verdict, faultCount, doubts }: Pick<TreeCheckResult, 'verdict' | 'faultCount' | 'doubts'>,
): Promise<void> => {
  const noted: LastAuditCheck = { at: at.toISOString(), verdict, faults: faultCount, doubts: [...doubts] };
  return putNote(secrets, ROW, JSON.stringify(noted));
};

/** undefined: none has ended. */
export const readAuditCheck = async (secrets: Pick<Secrets, 'get'>): Promise<LastAuditCheck | undefined> => {
  const noted = await secrets.get(ROW);
  return noted === undefined ? undefined : schema.parse(JSON.parse(noted));
};
