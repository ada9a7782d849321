import { readAuditCheck } from './last-audit-check.ts';
import type { Engines } from './open-engines.ts';

/** A check each night, and two nights without. */
const CHECK_DAYS_MAX = 3;
const DAY_MS = 86_400_000;

/** Result of the last check of the audit trees, and problems with the trees or their signing. */
export const auditState = async ({ context, system }: Pick<Engines, 'context' | 'system'>, disputed: number) => {
  const last = await readAuditCheck(context.secrets);
  const signing =
    disputed > 0
      ? [`${disputed} audit logs are contradicted by a witness and not signed any more: docs/audit.md, After a restore`]
      : [];
  if (last === undefined) {
    const sentence = 'the audit trees were never checked: they are each night, and by `npm run outbox -- audit check`';
    return { last, sentence, problems: signing };
  }
  const { at, verdict, faults, doubts } = last;
  const found = { 'no fault': 'no fault', faults: `${faults} faults`, undecided: `undecided: ${doubts.join('; ')}` };
  const sentence = `the audit trees were checked at ${at}: ${found[verdict]}`;
  const isOld = system.now().getTime() - Date.parse(at) > CHECK_DAYS_MAX * DAY_MS;
  const isProblem = isOld || verdict === 'faults';
  return {
    last,
    sentence,
    problems: [...signing, ...(isProblem ? [`${sentence}: \`npm run outbox -- audit check\``] : [])],
  };
};
