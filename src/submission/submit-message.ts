import type { SMTPServerDataStream } from 'smtp-server';
import { sendMessage } from '../commands/message/send-message.ts';
import type { Caller } from '../domain/api-key/caller.ts';
import { DomainError, type ErrorCode } from '../domain/kernel/errors.ts';
import { requireUnsuspended } from '../domain/organization/organization.ts';
import { type AuthContext, type AuthResult, authenticate, presentedBearer } from '../http/auth/authenticate.ts';
import { consumeRateLimit } from '../http/auth/limits.ts';
import { requirePermission } from '../http/auth/permissions.ts';
import type { HttpDependencies } from '../http/dependencies.ts';
import { errorAnswer } from '../http/errors.ts';
import { originOf } from '../http/request-origin.ts';
import { htmlPolicyOf } from '../http/resources/messages/send-fields.ts';
import { sendRequestOf, withFreshDomain } from '../http/resources/messages/send-message.ts';
import { ROUTES } from '../http/route-table.ts';
import { withTurns } from '../lib/async/async.ts';
import { type BodyBudget, type Reservation, SMALL_BODY_BYTES_MAX } from '../lib/http/http.ts';
import type { MailParser } from '../lib/mime/mime.ts';
import { readSubmitted, sendBodyOf } from './submitted-body.ts';

/** A negative reply: `responseCode`, and a text that begins with the enhanced code (RFC 3463). */
export class SmtpRefusal extends Error {
  override readonly name = 'SmtpRefusal';
  readonly responseCode: number;
  constructor(responseCode: number, text: string) {
    super(text);
    this.responseCode = responseCode;
  }
}

type Reply = readonly [code: number, enhanced: string];

/** RFC 5321 §4.5.3.1.5: a reply line holds 512 octets, its code and CRLF included. */
const TEXT_CHARACTERS_MAX = 480;
/** More do not fit on the line, or would not be read. */
const SENTENCES_MAX = 5;

const CONTENT: Reply = [554, '5.6.0'];
const POLICY: Reply = [550, '5.7.1'];
const LATER: Reply = [451, '4.3.0'];
/** By the HTTP status of the same error. Any other status is about the message. */
const REPLIES: Readonly<Record<number, Reply>> = {
  401: POLICY,
  403: POLICY,
  409: LATER,
  413: [552, '5.3.4'],
  429: [451, '4.7.0'],
  500: LATER,
  503: LATER,
};
/** Replies to AUTH (RFC 4954 §6). A temporary fault of this service must not look like a wrong password. */
const AUTH_REPLIES: Readonly<Record<number, Reply>> = {
  401: [535, '5.7.8'],
  403: [535, '5.7.8'],
};
const AUTH_LATER: Reply = [454, '4.7.0'];

/** The first problems, if any, on one line in ASCII. */
const textOf = (error: unknown, message: string): string => {
  // The details of `unauthorized` are about an HTTP header.
  const hasNoDetails = !(error instanceof DomainError) || error.code === 'unauthorized';
  const sentences = hasNoDetails ? [] : Object.values(error.details ?? {}).flat();
  const text = sentences.length === 0 ? message : sentences.slice(0, SENTENCES_MAX).join('; ');
  return text.replace(/[^ -~]/gu, '?').slice(0, TEXT_CHARACTERS_MAX);
};

const replyOf = (error: unknown, replies: (status: number) => Reply): SmtpRefusal => {
  if (error instanceof SmtpRefusal) return error;
  const { status, body } = errorAnswer(error);
  const [code, enhanced] = replies(status);
  return new SmtpRefusal(code, `${enhanced} ${textOf(error, body.error.message)}`);
};

/** Errors that concern the sender, who may not send now, rather than the message. */
const OF_POLICY: ReadonlySet<string> = new Set(['domain_not_verified', 'quota_exceeded'] satisfies ErrorCode[]);

/** The reply to a refused message: the HTTP status of the error as a code of RFC 5321. */
export const messageRefusal = (error: unknown): SmtpRefusal =>
  replyOf(error, (status) => {
    const isOfPolicy = error instanceof DomainError && OF_POLICY.has(error.code);
    return isOfPolicy ? POLICY : (REPLIES[status] ?? CONTENT);
  });

/** The reply to a failed AUTH. */
export const authRefusal = (error: unknown): SmtpRefusal =>
  replyOf(error, (status) => AUTH_REPLIES[status] ?? AUTH_LATER);

/** The authenticated client of a connection. The key is kept for re-authentication, because it may be revoked. */
export interface Principal {
  readonly key: string;
  /** IP address of the client's socket. */
  readonly address: string;
  /** Organization of the key. */
  readonly organizationId: string;
}

/** A key needs the same permission as over HTTP. */
const RULE = ROUTES['POST /v1/messages/send'];

const authenticateSender = async (
  auth: AuthContext,
  { key, address }: Pick<Principal, 'key' | 'address'>,
): Promise<AuthResult> => {
  const authenticated = await authenticate(auth, presentedBearer(`Bearer ${key}`), address);
  requirePermission(authenticated.caller, RULE, 'POST');
  return authenticated;
};

/** Authenticates the key. @throws {DomainError} by the catalogue, as HTTP does. */
export const authenticateKey = async (auth: AuthContext, key: string, address: string): Promise<Principal> => {
  const { caller } = await authenticateSender(auth, { key, address });
  return { key, address, organizationId: caller.organizationId };
};

/** Authenticates again, refuses a suspended organization, and consumes the key's rate limit for one message. @throws {DomainError} by the catalogue. */
export const authorizeMessage = async (auth: AuthContext, principal: Principal): Promise<void> => {
  const authenticated = await authenticateSender(auth, principal);
  requireUnsuspended(authenticated.caller.suspension);
  await consumeRateLimit(auth, authenticated, { kind: RULE.kind, count: 1 }, null);
};

/** Authenticates again: a message may take long to arrive. @throws {DomainError} by the catalogue. */
const reauthenticate = async (auth: AuthContext, principal: Principal): Promise<Caller> =>
  (await authenticateSender(auth, principal)).caller;

/** The maximum that HTTP accepts, in base64 and with headers. */
export const MESSAGE_BYTES_MAX = 26_500_000;
/** Chunks are copied into blocks, because each chunk held separately costs some hundred bytes, however short it is. */
const BLOCK_BYTES = 65_536;
const FIRST_BLOCK_BYTES = 8_192;

const tooLarge = (): SmtpRefusal => new SmtpRefusal(552, `5.3.4 the message is larger than ${MESSAGE_BYTES_MAX} bytes`);
const noRoom = (): SmtpRefusal =>
  new SmtpRefusal(451, '4.3.1 too many messages are in progress: try again in a few seconds');
const broken = (): SmtpRefusal => new SmtpRefusal(451, '4.4.2 the connection ended before the message');

interface ReceivedMessage {
  readonly chunks: readonly Uint8Array[];
  /** Its share of the byte budget, to be released at the end. */
  readonly reservation: Reservation;
}

interface ReceiveContext {
  readonly bodies: BodyBudget;
  readonly organizationId: string;
  /** `SIZE` of the client's MAIL (RFC 1870); null: absent. */
  readonly declaredBytes: number | null;
}

const createBlocks = () => {
  const full: Uint8Array[] = [];
  let block = Buffer.allocUnsafe(FIRST_BLOCK_BYTES);
  let used = 0;
  const add = (piece: Buffer): void => {
    const copied = piece.copy(block, used);
    used += copied;
    if (used < block.length) return;
    full.push(block);
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    used = 0;
    add(piece.subarray(copied));
  };
  return { add, chunks: (): readonly Uint8Array[] => [...full, block.subarray(0, used)] };
};

/** Reserves the declared size, or that of a small message. Nothing is read from the client until then. */
const reserveFirst = ({ bodies, organizationId, declaredBytes }: ReceiveContext): Promise<Reservation | null> => {
  const bytes = Math.min(MESSAGE_BYTES_MAX, declaredBytes ?? SMALL_BODY_BYTES_MAX);
  return bodies.reserve(organizationId, bytes, { waits: true });
};

const readToEnd = async (
  stream: SMTPServerDataStream,
  keep: (piece: Buffer) => Promise<SmtpRefusal | null>,
): Promise<SmtpRefusal | null> => {
  let refusal: SmtpRefusal | null = null;
  try {
    for await (const piece of withTurns(stream as AsyncIterable<Buffer>)) refusal ??= await keep(piece);
  } catch {
    return broken();
  }
  return refusal;
};

/**
 * Receives a message within the byte budget of all bodies in flight: bytes are reserved before they are read. A refused
 * message is read to its end, as the protocol requires, and dropped.
 * @throws {SmtpRefusal} too large, no room, or incomplete; then nothing stays reserved.
 */
export const receiveMessage = async (
  stream: SMTPServerDataStream,
  receiving: ReceiveContext,
): Promise<ReceivedMessage> => {
  const { bodies, organizationId } = receiving;
  const blocks = createBlocks();
  let reservation = await reserveFirst(receiving);
  let bytes = 0;

  /** Keeps the reservation until a larger one is made. */
  const hasRoom = async (): Promise<boolean> => {
    if (reservation === null || bytes <= reservation.bytes()) return reservation !== null;
    // Clients that count CRLF as one byte declare too little: an ordinary message still reserves what a small one does.
    const wanted = bytes <= SMALL_BODY_BYTES_MAX ? SMALL_BODY_BYTES_MAX : MESSAGE_BYTES_MAX;
    const wider = await bodies.reserve(organizationId, wanted, { waits: true });
    reservation.release();
    reservation = wider;
    return wider !== null;
  };

  const keep = async (piece: Buffer): Promise<SmtpRefusal | null> => {
    bytes += piece.length;
    if (bytes > MESSAGE_BYTES_MAX) return tooLarge();
    if (!(await hasRoom())) return noRoom();
    blocks.add(piece);
    return null;
  };

  const refusal = await readToEnd(stream, keep);
  if (refusal === null && reservation !== null) return { chunks: blocks.chunks(), reservation };
  reservation?.release();
  throw refusal ?? noRoom();
};

/** Dependencies shared with the API, and the parser. */
export interface SubmissionContext {
  readonly deps: HttpDependencies;
  readonly auth: AuthContext;
  readonly bodies: BodyBudget;
  readonly mailParser: MailParser;
}

interface SubmittedMessage {
  readonly principal: Principal;
  /** `req_…` */
  readonly requestId: string;
  /** Parsed addresses without duplicates. */
  readonly envelope: readonly string[];
  /** The message as it arrived. */
  readonly chunks: readonly Uint8Array[];
  /** Aborted when the client has been asked to try again: the message must not be accepted after that. */
  readonly late: AbortSignal;
}

/**
 * Accepts a submitted message durably, with the same command as HTTP.
 * @returns its id.
 * @throws {DomainError} by the catalogue.
 */
export const submitMessage = async (context: SubmissionContext, submission: SubmittedMessage): Promise<string> => {
  const { deps, auth, mailParser } = context;
  const touch = (): void => deps.eventLoop?.touch({ route: 'SMTP DATA', requestId: submission.requestId });
  const { organizationId } = await reauthenticate(auth, submission.principal);
  touch();
  const mail = await mailParser.parse(submission.chunks, organizationId);
  if (typeof mail === 'string') throw new DomainError('invalid_request', `the message cannot be read: ${mail}`);
  touch();
  const submitted = sendBodyOf(mail, submission.envelope);
  const html = htmlPolicyOf({ deps, auth }, 'smtp', { organizationId });
  const body = await readSubmitted(html, submitted, { organizationId });
  const caller = await reauthenticate(auth, submission.principal); // reading it all took a while
  const sender = await withFreshDomain(auth.keyCache, caller);
  touch();
  const { beyond, idempotencyKey } = submitted;
  const request = await sendRequestOf({ deps, auth }, sender, body, { beyond, html });
  submission.late.throwIfAborted();
  const sent = await sendMessage(
    deps.context,
    originOf(sender, { id: submission.requestId, ip: submission.principal.address }),
    sender,
    { ...request, body: { ...submitted.body, ...beyond }, idempotencyKey },
  );
  return sent.message.accepted.messageId;
};
