import { retry } from '../../async/retry.ts';
import type { CommandContext } from '../../commands/context.ts';
import { REPORT_OUTCOMES, type ReportOutcome, recordReport } from '../../commands/message/record-report.ts';
import { unsubscribeByMail } from '../../commands/message/unsubscribe-recipient.ts';
import type { InboundReport, Report, Uneventful } from '../../domain/bounce/report.ts';
import type { ReturnToken } from '../../domain/message/return-path.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';

/** A mail that came back, and where to; null: the address for feedback loops. */
export interface Returned {
  readonly tokens: readonly (ReturnToken | null)[];
  readonly mail: InboundReport;
}

/** What is counted, and in the log: what a mail changed, or why it changed nothing. */
export const RETURNED_OUTCOMES = [
  ...REPORT_OUTCOMES,
  ...(['automatic_reply', 'not_given_up', 'not_a_report'] as const),
  /** Passed on to whoever reads the postmaster's mail. */
  'postmaster',
] as const;
export type ReturnedOutcome = (typeof RETURNED_OUTCOMES)[number];

export interface TakeReturnedMail {
  readonly context: Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  count(outcome: ReturnedOutcome): void;
}

const RECORDED = 'what came back was recorded';
const SENTENCES: Readonly<Record<ReportOutcome, string>> = {
  bounced: RECORDED,
  bounced_late: RECORDED,
  complained: RECORDED,
  unsubscribed: RECORDED,
  unchanged: 'what came back says nothing new',
  unmatched: 'what came back is about nobody that the message went to',
  forged: 'what came back does not prove that it is about a message of ours',
};

const UNEVENTFUL: Readonly<Record<Uneventful, ReturnedOutcome>> = {
  'automatic reply': 'automatic_reply',
  'not given up': 'not_given_up',
  'not a report': 'not_a_report',
};

const outcomeOf = (recorded: ReportOutcome, report: Report): ReturnedOutcome =>
  recorded === 'unchanged' && report.kind === 'nothing' ? UNEVENTFUL[report.why] : recorded;

const isUnsubscription = (token: ReturnToken | null): boolean => token?.purpose === 'unsubscribe';

const taken = ({ context, system }: TakeReturnedMail, token: ReturnToken | null, mail: InboundReport) =>
  retry(system, () =>
    token?.purpose === 'unsubscribe' ? unsubscribeByMail(context, token) : recordReport(context, { token, mail }),
  );

const takeFor = async (deps: TakeReturnedMail, token: ReturnToken | null, mail: InboundReport): Promise<void> => {
  const { report } = mail;
  const recorded = await taken(deps, token, mail);
  const isUnsubscribing = isUnsubscription(token);
  const outcome = isUnsubscribing ? recorded : outcomeOf(recorded, report);
  const why = report.kind === 'nothing' ? { why: report.why } : {};
  deps.logger.info({ kind: isUnsubscribing ? 'unsubscription' : report.kind, outcome, ...why }, SENTENCES[recorded]);
  deps.count(outcome);
};

/**
 * Does what a mail that came back asks for. Resolves once that is in the log, or nothing has to be; rejects when it
 * cannot be known (storage is away), so that the other side brings it again: a second time changes nothing.
 */
export const createTakeInboundReport =
  (deps: TakeReturnedMail) =>
  async ({ tokens, mail }: Returned): Promise<void> => {
    for (const token of tokens) await takeFor(deps, token, mail);
  };
