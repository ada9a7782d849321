import { classifyReply } from '../../domain/bounce/classify.ts';
import {
  attributeFailures,
  type InboundReport,
  type ReportedFailure,
  type ReturnedRecipient,
  recipientsNamed,
} from '../../domain/bounce/report.ts';
import type { MessageEvent } from '../../domain/events.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { recordReport as decideRecordReport, type ReportedRecipient } from '../../domain/message/record-report.ts';
import type { ReturnToken } from '../../domain/message/return-path.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import { messageStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, type Loaded } from '../execute.ts';
import { workerOrigin } from './claim-attempt.ts';
import { findReturned, type Returned } from './find-returned.ts';

type Context = Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>;

/** What came of a mail that came back. */
export const REPORT_OUTCOMES = [
  'bounced',
  /** It had been delivered, as far as was known. */
  'bounced_late',
  'complained',
  'unsubscribed',
  /** It says nothing new. */
  'unchanged',
  /** It is about nobody that the message went to. */
  'unmatched',
  /** Nothing in it was made by us. */
  'forged',
] as const;
export type ReportOutcome = (typeof REPORT_OUTCOMES)[number];

/** Of several recipients the one that had been delivered decides. */
const outcomeOf = (events: readonly MessageEvent[]): ReportOutcome => {
  if (events.length === 0) return 'unchanged';
  if (events.some(({ type }) => type === 'RecipientComplained')) return 'complained';
  const isLate = events.some(({ type, data }) => type === 'RecipientBounced' && data.late === true);
  return isLate ? 'bounced_late' : 'bounced';
};

export interface RecordReport {
  /** Of the address that it came to; null: an address for all messages (feedback loops). */
  readonly token: ReturnToken | null;
  readonly mail: InboundReport;
}

/** Whom it can be about, with their addresses as far as the vault still holds them. */
const candidatesOf = async (
  { contents }: Context,
  { message: { state }, places }: Returned,
): Promise<readonly ReturnedRecipient[]> => {
  const { accepted, recipients } = state;
  const head = (await contents.heads([accepted.contentId])).get(accepted.contentId);
  const known = head?.kind === 'message' ? head.recipients : [];
  return recipients
    .filter((_, place) => places.includes(place))
    .map(({ id }) => ({ id, address: known.find((each) => each.id === id)?.address ?? null }));
};

interface Reported {
  readonly reported: readonly ReportedRecipient[];
  readonly replies: readonly MessageContents[];
}

/** What the log is to hold of failures, and their texts, which it is not to hold. */
const reportFailures = (
  { state }: Loaded<ExistingMessage>,
  failures: readonly { readonly recipientId: string; readonly failure: ReportedFailure }[],
  uuid: () => string,
): Reported => {
  const { organizationId, accepted } = state;
  const each = failures.map(({ recipientId, failure }) => {
    const { code, enhanced, mx, text, isPermanent } = failure;
    const replyId = uuid();
    const body = { kind: 'reply', messageId: accepted.messageId, text } as const;
    const smtp = { code, enhanced, mx, tls: null, replyId };
    const reported: ReportedRecipient = {
      kind: 'failure',
      recipientId,
      isPermanent,
      smtp,
      category: classifyReply(failure),
    };
    return { reported, reply: { id: replyId, organizationId, body } };
  });
  return { reported: each.map(({ reported }) => reported), replies: each.map(({ reply }) => reply) };
};

const reportOf = async (context: Context, returned: Returned, { report }: InboundReport): Promise<Reported> => {
  const candidates = await candidatesOf(context, returned);
  switch (report.kind) {
    case 'failures':
      return reportFailures(returned.message, attributeFailures(candidates, report.failures), context.system.uuid);
    case 'complaint': {
      const named = recipientsNamed(candidates, report.addresses);
      return { reported: named.map(({ id }) => ({ kind: 'complaint', recipientId: id })), replies: [] };
    }
    case 'nothing':
      return { reported: [], replies: [] };
    default:
      return report satisfies never;
  }
};

/** A complaint may quote more than the address that it came to says; of a delivery report the address alone counts. */
const find = (context: Context, { token, mail }: RecordReport): Promise<Returned | null> => {
  const { report, quoted, envelopeId } = mail;
  const isOfOne = token !== null && token.recipientIndex !== null && token.sharesDomain !== true;
  const own = token === null ? [] : [token];
  return findReturned(context, own, report.kind === 'complaint' && !isOfOne ? { quoted } : { envelopeId });
};

/** Records what a mail that came back says about a message of ours, if it proves that it is about one. */
export const recordReport = async (context: Context, command: RecordReport): Promise<ReportOutcome> => {
  if (command.mail.report.kind === 'nothing') return 'unchanged';
  const returned = await find(context, command);
  if (returned === null) return 'forged';
  const { reported, replies } = await reportOf(context, returned, command.mail);
  if (reported.length === 0) return 'unmatched';
  const { state } = returned.message;
  const { events } = await execute<Message, Parameters<typeof message.evolve>[1]>(context, {
    aggregate: message,
    stream: messageStream(state.accepted.messageId),
    context: eventContext(workerOrigin(state, 'returned-mail'), context.system.now().toISOString()),
    contents: replies,
    decide: (before) =>
      decideRecordReport(
        before,
        returned.isVouched ? reported : reported.map((each) => ({ ...each, shared: true as const })),
      ),
    known: returned.message,
  });
  return outcomeOf(events);
};
