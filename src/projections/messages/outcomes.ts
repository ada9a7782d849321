import type { BounceCategory } from '../../domain/bounce/categories.ts';
import type { RecipientKind } from '../../domain/message/events.ts';
import type { RecipientStatus } from '../../domain/message/message.ts';
import { MAILBOX_PROVIDERS, OTHER_PROVIDER, type StatsMetric } from '../stats/metrics.ts';

/**
 * Finds messages by the outcomes of their recipients, as statistics count them. A message bears a label for each outcome but
 * the common ones, so that it is found in the order of the list; its recipients say which of them still have the outcome.
 * A second label for each outcome, also the common ones, stands at the time of the outcome: statistics by event count then.
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
/** Outcomes that have a time of their own. */
export type TimedOutcome = LabelledOutcome | 'delivered';
/** Milliseconds from acceptance to each outcome: the first of those that a recipient keeps, the last of the others. */
export type OutcomeTimes = Readonly<Partial<Record<TimedOutcome, number>>>;

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

/** Actions of the recipient. */
interface Marks {
  readonly complained: boolean;
  readonly unsubscribed: boolean;
  readonly opened: boolean;
  readonly clicked: boolean;
}

export const UNMARKED: Marks = { complained: false, unsubscribed: false, opened: false, clicked: false };

/** A recipient as it is stored: marks are absent until they are set. */
export interface StoredRecipient extends Partial<Marks> {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  /** Codes of replies that refused it permanently or temporarily; absent: none. */
  readonly codes?: readonly string[];
  /** Reason of the bounce; absent: not bounced. */
  readonly bounceClass?: BounceCategory;
  /** Outcomes that it has had; absent: none. */
  readonly outcomes?: OutcomeTimes;
  /** Recipient of a test send, which statistics do not count. */
  readonly trial?: true;
}

export type ListedRecipient = StoredRecipient & Marks;

export const isKept = (outcome: TimedOutcome): boolean => includes(KEPT, outcome);

/** The outcome if it has a time of its own; null: `accepted` and `waiting` have none. */
export const timedOutcome = (outcome: MessageOutcome | null): TimedOutcome | null =>
  outcome === 'delivered' ? outcome : labelledOutcome(outcome);

const recipientSql = (outcome: MessageOutcome): string => {
  if (outcome === 'accepted') return 'true';
  if (outcome === 'waiting') return "r.status in ('accepted', 'scheduled', 'sending', 'deferred')";
  return includes(KEPT, outcome) ? `r.outcomes ? '${outcome}'` : `r.status = '${outcome}'`;
};

export interface AskOutcome {
  readonly outcome: MessageOutcome | null;
  /** The outcome happened at or after; ISO 8601. */
  readonly outcomeSince: string | null;
  /** The outcome happened before. */
  readonly outcomeUntil: string | null;
  readonly recipientDomain: string | null;
  readonly mailboxProvider: string | null;
  readonly bounceClass: string | null;
}

/** The outcome whose own time is asked for; null: messages are found by the time of their acceptance. */
export const outcomeByTime = ({ outcome, outcomeSince, outcomeUntil }: AskOutcome): TimedOutcome | null =>
  (outcomeSince ?? outcomeUntil) === null ? null : timedOutcome(outcome);

/**
 * Condition on a message `m`: one of its recipients has the outcome, and matches the other filters of recipients too. As in
 * statistics, test sends of templates are left out. By the time of the outcome, the label `l` must be that of the last such
 * recipient, so that a message is found once. @param behind number of parameters before those of the condition.
 */
export const havingOutcome = (
  by: AskOutcome,
  behind: number,
): { readonly sql: string; readonly values: readonly unknown[] } => {
  const { outcome, recipientDomain, mailboxProvider, bounceClass, outcomeSince, outcomeUntil } = by;
  if (outcome === null) return { sql: '', values: [] };
  const [domain, provider, bounce] = [1, 2, 3].map((at) => `$${behind + at}::text`);
  const [since, until] = [5, 6].map((at) => `$${behind + at}::timestamptz`);
  const timed = outcomeByTime(by);
  const time = `m.created_at + (r.outcomes ->> '${timed}')::float8 * interval '1 millisecond'`;
  const recipients = `from json_to_recordset(m.recipients)
        as r(domain text, status text, trial boolean, "bounceClass" text, outcomes jsonb)
      where r.trial is not true and ${recipientSql(outcome)}
        and (${domain} is null or r.domain = ${domain})
        and (${provider} is null or coalesce($${behind + 4}::json ->> r.domain, '${OTHER_PROVIDER}') = ${provider})
        and (${bounce} is null or r."bounceClass" = ${bounce})`;
  const providers = mailboxProvider === null ? null : JSON.stringify(MAILBOX_PROVIDERS);
  const values = [recipientDomain, mailboxProvider, bounceClass, providers];
  if (timed === null) return { sql: `\n    and exists (select ${recipients})`, values };
  const sql = `
    and (${since} is null or l.created_at >= ${since}) and (${until} is null or l.created_at < ${until})
    and exists (
      select ${recipients} and (${until} is null or ${time} < ${until}) having max(${time}) = l.created_at)`;
  return { sql, values: [...values, outcomeSince, outcomeUntil] };
};
