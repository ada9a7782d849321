import { classifyReply } from '../../domain/bounce/classify.ts';
import {
  type AttributedFailure,
  attributeFailures,
  type InboundReport,
  type ReturnedRecipient,
  recipientsNamed,
} from '../../domain/bounce/report.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { boundReply } from '../../domain/message/draft.ts';
import { REPORT_DOUBTS } from '../../domain/message/events.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { recordReport as decideRecordReport, type ReportedRecipient } from '../../domain/message/recipient-feedback.ts';
import {
  indexesOf,
  isLinkToken,
  isReturnPath,
  type ReturnToken,
  readLinkToken,
  readReturnPath,
} from '../../domain/message/tokens.ts';
import type { ErasedContent, MessageContents } from '../../domain/ports/contents.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { System } from '../../lib/async/async.ts';
import { SALT_BYTES } from '../../lib/transparency/transparency.ts';
import { erasedRecord } from '../erasure.ts';
import { type CommandContext, eventContext, execute, type LoadedStream, load } from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { addressDigest } from '../suppression.ts';
import { workerOrigin } from './attempt.ts';

/** Used if the message does not exist. Secrets in use are in memory too, so that a guess takes the same time. */
const NO_SECRET = new Uint8Array(32);

/** Secret with which addresses and links of a message are signed; an unused secret if the message does not exist. */
export const secretOfMessage = async (secrets: Secrets, state: Message): Promise<Uint8Array> =>
  state.status === 'absent' ? NO_SECRET : organizationSecret(secrets, state.organizationId);

/** A message that came back, proved to be ours. */
export interface ReturnedMessage {
  readonly message: LoadedStream<ExistingMessage>;
  /** Places of those who had this copy: it is about one of them. */
  readonly places: readonly number[];
  /** No other recipient can have caused it: the copy was one recipient's, or the reporter knows the envelope id. */
  readonly isVouched: boolean;
}

/** Something that only we can have made, if its HMAC is right. */
interface Proof {
  readonly messageId: string;
  /** How well it says whose copy it is of: 0, of one. */
  readonly breadth: 0 | 1 | 2;
  isOurs(secret: Uint8Array): boolean;
  placesIn(state: ExistingMessage): readonly number[];
  /** Proves by the envelope id in the report that a server had the mail. */
  isEnvelope(secret: Uint8Array, id: string): boolean;
}

/** A message quotes two or three of them; each costs a read of the log. */
const PROOFS_MAX = 5;

const breadthOf = ({ recipientIndex, sharesDomain }: ReturnToken): Proof['breadth'] => {
  if (recipientIndex === null) return 2;
  return sharesDomain === true ? 1 : 0;
};

const ofAddress = (token: ReturnToken): Proof => ({
  messageId: token.messageId,
  breadth: breadthOf(token),
  isOurs: (secret) => isReturnPath(secret, token),
  placesIn: ({ recipients }) => indexesOf(token, recipients),
  // The id must be that of the same copy: other recipients got another envelope id.
  isEnvelope: (secret, id) => {
    const envelope = readReturnPath(id);
    return envelope !== null && isReturnPath(secret, { ...token, purpose: 'envelope', mac: envelope.mac });
  },
});

const ofLink = (text: string): readonly Proof[] => {
  const token = readLinkToken(text);
  if (token === null) return [];
  const placesIn = ({ recipients }: ExistingMessage) =>
    [...recipients.keys()].filter((place) => recipients[place]?.id === token.recipientId);
  const isOurs = (secret: Uint8Array) => isLinkToken(secret, 'unsubscribe', token);
  return [{ messageId: token.messageId, breadth: 0, isOurs, placesIn, isEnvelope: () => false }];
};

const quotedProofs = (quoted: InboundReport['quoted']): readonly Proof[] => [
  ...quoted.localParts.flatMap((localPart) => {
    const token = readReturnPath(localPart);
    return token === null ? [] : [ofAddress(token)];
  }),
  ...quoted.linkTokens.flatMap(ofLink),
];

/** Loads the message that an address or a link names, if it was signed with the secret of the message's organization. */
const prove = async (
  { store, secrets }: Pick<CommandContext, 'store' | 'secrets'>,
  proof: Proof,
  envelopeId: string | null,
): Promise<ReturnedMessage | null> => {
  const { state, revision }: LoadedStream<Message> = await load(store, message, messageStream(proof.messageId));
  const secret = await secretOfMessage(secrets, state);
  const isOurs = proof.isOurs(secret);
  if (!isOurs || state.status === 'absent') return null;
  const places = proof.placesIn(state);
  const isVouched = places.length === 1 || (envelopeId !== null && proof.isEnvelope(secret, envelopeId));
  return { message: { state, revision }, places, isVouched };
};

/**
 * The message that a mail is about, by our addresses and links that it was sent to or quotes. Those that identify the
 * recipient's copy are tried first. Headers that anyone can forge (Message-ID, Feedback-ID, To) prove nothing.
 * @returns null if there is no proof.
 */
export const findReturned = async (
  context: Pick<CommandContext, 'store' | 'secrets'>,
  tokens: readonly ReturnToken[],
  { quoted, envelopeId }: Partial<Pick<InboundReport, 'quoted' | 'envelopeId'>> = {},
): Promise<ReturnedMessage | null> => {
  const all = [...tokens.map(ofAddress), ...(quoted === undefined ? [] : quotedProofs(quoted))];
  for (const proof of all.slice(0, PROOFS_MAX).toSorted((left, right) => left.breadth - right.breadth)) {
    const returned = await prove(context, proof, envelopeId ?? null);
    if (returned !== null) return returned;
  }
  return null;
};

type Context = Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>;

/** Outcomes of an inbound report. */
export const REPORT_OUTCOMES = [
  'bounced',
  /** It had been delivered, as far as was known. */
  'bounced_late',
  'complained',
  'unsubscribed',
  /** Noted, without effect. */
  ...REPORT_DOUBTS,
  'unchanged',
  /** It is about none of the message's recipients. */
  'unmatched',
  /** Nothing in it was made by us. */
  'forged',
] as const;
export type ReportOutcome = (typeof REPORT_OUTCOMES)[number];

/** With several recipients, the one that had been delivered decides. */
const outcomeOf = (events: readonly MessageEvent[]): ReportOutcome => {
  const doubts = events.flatMap(({ type, data }) => (type === 'RecipientReportNoted' ? data.doubt : []));
  if (doubts.length === events.length) return doubts[0] ?? 'unchanged';
  if (events.some(({ type }) => type === 'RecipientComplained')) return 'complained';
  const isLate = events.some(({ type, data }) => type === 'RecipientBounced' && data.late === true);
  return isLate ? 'bounced_late' : 'bounced';
};

export interface RecordReport {
  /** Token of the address that received the mail; null: an address for all messages (feedback loops). */
  readonly token: ReturnToken | null;
  readonly mail: InboundReport;
}

const addressesIn = (report: InboundReport['report']): readonly string[] => {
  const named = report.kind === 'failures' ? report.failures : [report];
  return named.flatMap((each) => ('addresses' in each ? each.addresses : []));
};

/** Recipients that it can be about, each with its address if the report names it. The vault need not hold it any more. */
const candidatesOf = async (
  { secrets }: Context,
  { message: { state }, places }: ReturnedMessage,
  report: InboundReport['report'],
): Promise<readonly ReturnedRecipient[]> => {
  const secret = await secretOfMessage(secrets, state);
  const named = new Map(addressesIn(report).map((address) => [addressDigest(secret, address), address]));
  return state.accepted.recipients
    .filter((_, place) => places.includes(place))
    .map(({ id, digest }) => ({ id, address: named.get(digest) ?? null }));
};

interface ReportedFailures {
  readonly reported: readonly ReportedRecipient[];
  readonly replies: readonly MessageContents[];
}

/** Events for reported failures, and their texts, which are stored outside the log. */
const reportFailures = (
  { state }: LoadedStream<ExistingMessage>,
  failures: readonly AttributedFailure[],
  erased: ErasedContent | null,
  { uuid, randomBytes }: Pick<System, 'uuid' | 'randomBytes'>,
): ReportedFailures => {
  const { organizationId, accepted } = state;
  const each = failures.map(({ recipientId, failure, isBehind }) => {
    const { code, enhanced, mx, text, isPermanent } = failure;
    const replyId = uuid();
    const { body, root } = boundReply(accepted.messageId, text, randomBytes(SALT_BYTES));
    // Omit the hash of a text that is erased before it is stored.
    const smtp = { code, enhanced, mx, tls: null, replyId, ...(erased === null && { replyRoot: root }) };
    const category = classifyReply(failure);
    const doubt = isBehind ? { doubt: 'address_behind' as const } : {};
    const reported: ReportedRecipient = { kind: 'failure', recipientId, isPermanent, smtp, category, ...doubt };
    return { reported, reply: { id: replyId, organizationId, body: erased ?? body } };
  });
  return { reported: each.map(({ reported }) => reported), replies: each.map(({ reply }) => reply) };
};

const reportOf = async (
  context: Context,
  returned: ReturnedMessage,
  { report }: InboundReport,
): Promise<ReportedFailures> => {
  const candidates = await candidatesOf(context, returned, report);
  switch (report.kind) {
    case 'failures':
      return reportFailures(
        returned.message,
        attributeFailures(candidates, report.failures),
        await erasedRecord(context.contents, returned.message.state.accepted.contentId),
        context.system,
      );
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

/** A complaint may quote more evidence than its return address. For a delivery report only the address is used. */
const find = (context: Context, { token, mail }: RecordReport): Promise<ReturnedMessage | null> => {
  const { report, quoted, envelopeId } = mail;
  const isOfOne = token !== null && token.recipientIndex !== null && token.sharesDomain !== true;
  const own = token === null ? [] : [token];
  return findReturned(context, own, report.kind === 'complaint' && !isOfOne ? { quoted } : { envelopeId });
};

/** Records an inbound report about a message, if it proves that it is about one. */
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
        returned.isVouched ? reported : reported.map((each) => ({ ...each, doubt: 'unconfirmed' as const })),
      ),
    known: returned.message,
  });
  return outcomeOf(events);
};
