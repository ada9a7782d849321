import type { CommandContext } from '../commands/execute.ts';
import { bounceForward } from '../commands/inbound/forward.ts';
import { unsubscribeByMail } from '../commands/message/recipient.ts';
import { REPORT_OUTCOMES, type ReportOutcome, recordReport } from '../commands/message/record-report.ts';
import type { InboundReport, NoEffectReason, Report } from '../domain/bounce/report.ts';
import type { ReturnToken } from '../domain/message/tokens.ts';
import { type Logger, retry, type System } from '../lib/async/async.ts';

/** A return address of mail that was forwarded. */
interface ForwardedReturn {
  readonly inboundId: string;
}

/** A mail received at a return address. A token of null: the address for feedback loops. */
export interface ReturnedMail {
  readonly tokens: readonly (ReturnToken | ForwardedReturn | null)[];
  readonly mail: InboundReport;
}

/** For metrics and the log: what a mail changed, or why it changed nothing. */
export const RETURNED_OUTCOMES = [
  ...REPORT_OUTCOMES,
  'automatic_reply',
  'not_given_up',
  'not_a_report',
  /** Passed on to the postmaster. */
  'postmaster',
  /** Recorded as the failure of a forward. */
  'forward_bounced',
] as const;
export type ReturnedOutcome = (typeof RETURNED_OUTCOMES)[number];

export interface TakeReturnedMail {
  readonly context: Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
  readonly logger: Logger;
  count(outcome: ReturnedOutcome): void;
}

const RECORDED = 'recorded an inbound report';
const SENTENCES: Readonly<Record<ReportOutcome, string>> = {
  bounced: RECORDED,
  bounced_late: RECORDED,
  complained: RECORDED,
  unsubscribed: RECORDED,
  unconfirmed: 'noted an inbound report without effect: another recipient of the same copy could have written it',
  address_behind: 'noted an inbound report without effect: it is about an address that the recipient forwards to',
  unchanged: 'an inbound report had no effect',
  unmatched: 'ignored an inbound report: it names no recipient of the message',
  forged: 'ignored an inbound report: it does not prove that it is about a message of this service',
};

const UNEVENTFUL: Readonly<Record<NoEffectReason, ReturnedOutcome>> = {
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

const takeForward = async (deps: TakeReturnedMail, inboundId: string, mail: InboundReport): Promise<void> => {
  const { context, system, logger, count } = deps;
  const isRecorded = await retry(system, () => bounceForward(context, inboundId, mail));
  const outcome = isRecorded ? 'forward_bounced' : outcomeOf('unchanged', mail.report);
  logger.info({ kind: 'forward', inboundId, outcome }, SENTENCES[isRecorded ? 'bounced' : 'unchanged']);
  count(outcome);
};

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
 * Records a bounce, complaint or unsubscription. Resolves once it is in the log, or changes nothing; rejects while storage
 * is away, so that the sender delivers the mail again: a second time changes nothing.
 */
export const createRecordInboundReport =
  (deps: TakeReturnedMail) =>
  async ({ tokens, mail }: ReturnedMail): Promise<void> => {
    for (const token of tokens) {
      if (token !== null && 'inboundId' in token) await takeForward(deps, token.inboundId, mail);
      else await takeFor(deps, token, mail);
    }
  };
