import type { RecipientStatus } from '../../domain/message/message.ts';
import { MAILBOX_PROVIDERS, OTHER_PROVIDER, type StatsMetric } from '../stats/metrics.ts';

/**
 * Finds messages by the outcomes of their recipients, as statistics count them. A message bears a label for each outcome but
 * the common ones, so that it is found in the order of the list; its recipients say which of them still have the outcome.
 */

/** Outcomes that a recipient keeps, whatever follows. */
const KEPT = [
  'deferred',
  'opened',
  'clicked',
  'machine_opened',
  'machine_clicked',
  'complained',
  'unsubscribed',
] as const satisfies readonly StatsMetric[];
/** Final outcomes other than delivery: the status of the recipient. */
const ENDED = ['bounced', 'failed', 'expired', 'suppressed', 'cancelled'] as const satisfies readonly RecipientStatus[];

export type LabelledOutcome = (typeof KEPT)[number] | (typeof ENDED)[number];

/** Metrics of statistics that count recipients, and `waiting`: those without an outcome. */
export const MESSAGE_OUTCOMES = ['accepted', 'waiting', 'delivered', ...ENDED, ...KEPT] as const satisfies readonly (
  | StatsMetric
  | 'waiting'
)[];
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number];

const includes = (names: readonly string[], name: string | null): boolean => name !== null && names.includes(name);

/** The label of an outcome; null: the outcome is too common to have one, and most messages of the list match. */
export const labelledOutcome = (outcome: MessageOutcome | null): LabelledOutcome | null =>
  includes(KEPT, outcome) || includes(ENDED, outcome) ? (outcome as LabelledOutcome) : null;

/** An outcome that at least one recipient has if the message has this status; null: it has no label. */
export const outcomeOfStatus = (status: RecipientStatus | null): LabelledOutcome | null =>
  status === 'deferred' || includes(ENDED, status) ? (status as LabelledOutcome) : null;

const recipientSql = (outcome: MessageOutcome): string => {
  if (outcome === 'accepted') return 'true';
  if (outcome === 'waiting') return "r.status in ('accepted', 'scheduled', 'sending', 'deferred')";
  return includes(KEPT, outcome) ? `r.outcomes ? '${outcome}'` : `r.status = '${outcome}'`;
};

interface AskOutcome {
  readonly outcome: MessageOutcome | null;
  readonly recipientDomain: string | null;
  readonly mailboxProvider: string | null;
  readonly bounceClass: string | null;
}

/**
 * Condition on a message `m`: one of its recipients has the outcome, and matches the other filters of recipients too. As in
 * statistics, test sends of templates are left out. @param behind number of parameters before those of the condition.
 */
export const havingOutcome = (
  { outcome, recipientDomain, mailboxProvider, bounceClass }: AskOutcome,
  behind: number,
): { readonly sql: string; readonly values: readonly unknown[] } => {
  if (outcome === null) return { sql: '', values: [] };
  const [domain, provider, bounce] = [1, 2, 3].map((at) => `$${behind + at}::text`);
  const sql = `
    and exists (
      select from json_to_recordset(m.recipients)
        as r(domain text, status text, trial boolean, "bounceClass" text, outcomes jsonb)
      where r.trial is not true and ${recipientSql(outcome)}
        and (${domain} is null or r.domain = ${domain})
        and (${provider} is null or coalesce($${behind + 4}::json ->> r.domain, '${OTHER_PROVIDER}') = ${provider})
        and (${bounce} is null or r."bounceClass" = ${bounce}))`;
  const providers = mailboxProvider === null ? null : JSON.stringify(MAILBOX_PROVIDERS);
  return { sql, values: [recipientDomain, mailboxProvider, bounceClass, providers] };
};
