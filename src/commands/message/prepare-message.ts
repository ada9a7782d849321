import type { Analysis, Finding } from '../../domain/analysis/analysis.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { keyedDigest, metadataDigest, repeatedDigest, sha256Hex, subjectDigest } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { formatId, ID_BYTES } from '../../domain/kernel/ids.ts';
import type { AcceptMessage } from '../../domain/message/accept-message.ts';
import { contentParts, contentRoot, type MessageDraft, resentProblems } from '../../domain/message/draft.ts';
import { addressDigests, senderDigests, subjectWordDigests, tagDigests } from '../../domain/message/search-words.ts';
import type { MessageBody, MessageContents } from '../../domain/ports/contents.ts';
import type { ExistingTopic } from '../../domain/topic/topic.ts';
import { isTracked, trackingOf } from '../../domain/tracking/tracking.ts';
import { inTurns, mapConcurrently, type System } from '../../lib/async/async.ts';
import { canonicalAddress, domainOf } from '../../lib/mime/mime.ts';
import { canonicalJson, SALT_BYTES } from '../../lib/transparency/transparency.ts';

/** A client's send request with the facts about it. */
export interface SendRequest {
  /** Why it is refused, unless it was accepted before; absent: not refused. */
  readonly refusal?: DomainError;
  readonly draft: MessageDraft;
  /** Sending domain of a request by a member, who has no domain of their own. Absent: the caller's domain. */
  readonly domain?: Caller['domain'];
  /** Absent: not requested. */
  readonly analysed?: {
    readonly analysis: Analysis;
    /** Its errors refuse the message. */
    readonly blocks: boolean;
  };
  /** Problems that the strict rule finds in html that was accepted. Absent: none. */
  readonly findings?: readonly Finding[];
  /** Its topic, or why it cannot have that topic. Absent: none. */
  readonly topic?: ExistingTopic | DomainError;
}

/** Identity of a request. A repeat with the same `Idempotency-Key` has the same identity. */
export interface MessageIdentity {
  readonly messageId: string;
  /** Keyed digest of the request. */
  readonly bodyDigest: string;
  /** It came with an `Idempotency-Key`, from which the message's id follows. */
  readonly idempotent: boolean;
}

/** The caller, and the secret of its organization. */
export interface Sender {
  readonly caller: Caller;
  readonly secret: Uint8Array;
}

/** A message with all its ids, before it is decided upon. */
export interface PreparedMessage {
  readonly accept: AcceptMessage;
  readonly contents: MessageContents & { readonly body: MessageBody };
}

const SECOND_MS = 1000;

/** @throws {DomainError} `from_domain_mismatch` (spec §4). */
export const requireFromDomain = ({ domain }: Caller, fromAddress: string): void => {
  if (domain.name !== '' && domainOf(fromAddress) === domain.name) return;
  const allowed = domain.name === '' ? 'a domain of the organization' : `${domain.name}, the key's domain`;
  const problem = `from must be an address on ${allowed}`;
  throw new DomainError('from_domain_mismatch', problem, { details: { from: [problem] } });
};

/** A message is not sent again in another domain's name. @throws {DomainError} `from_domain_mismatch`. */
const requireOwnResentHeaders = ({ domain }: Caller, { headers, repeatedHeaders = [] }: MessageDraft): void => {
  const repeated = repeatedHeaders.map(({ name, value }) => [name, value] as const);
  const problems = resentProblems([...Object.entries(headers), ...repeated], domain.name);
  const [first] = problems;
  if (first !== undefined) throw new DomainError('from_domain_mismatch', first, { details: { headers: problems } });
};

const sizeOf = ({ html = '', text = '', attachments, alternatives = [] }: MessageDraft): number =>
  Buffer.byteLength(html) +
  Buffer.byteLength(text) +
  [...attachments, ...alternatives].reduce((sum, { content }) => sum + Math.floor((content.length * 3) / 4), 0);

const judgementIn = ({ analysed, findings = [] }: SendRequest): Pick<MessageBody, 'analysis' | 'findings'> => {
  if (analysed === undefined) return findings.length === 0 ? {} : { findings };
  const { score, verdict, findings: all } = analysed.analysis;
  return { analysis: { score, verdict, findings: all } };
};

const refusalOf = ({ refusal, topic }: SendRequest): DomainError | null =>
  refusal ?? (topic instanceof DomainError ? topic : null);

const topicIn = ({ topic }: SendRequest): Pick<AcceptMessage['accepted'], 'topic'> =>
  topic === undefined || topic instanceof DomainError ? {} : { topic: { id: topic.topicId, default: topic.default } };

/**
 * Each part has a salt of its own, stored with the part. If the salts were derived from one seed, the parts that remain
 * after an erasure would reveal the salts of the erased ones.
 */
const withSalts = async (
  { randomBytes }: System,
  body: MessageBody,
): Promise<{ readonly body: MessageBody; readonly root: string }> => {
  const parts = await inTurns(contentParts(body));
  const bytes = Buffer.from(randomBytes(SALT_BYTES * parts.length));
  const salts = parts.map((_, index) => bytes.toString('base64url', index * SALT_BYTES, (index + 1) * SALT_BYTES));
  const root = contentRoot(parts.map((part, index) => ({ ...part, salt: salts[index] as string })));
  return { body: { ...body, salts }, root };
};

/**
 * Everything about a message that needs the clock, randomness or a secret, so that the decision needs none.
 * @throws {DomainError} `from_domain_mismatch`.
 */
export const prepareMessage = async (
  system: System,
  { caller, secret }: Sender,
  { messageId, bodyDigest, idempotent }: MessageIdentity,
  request: SendRequest,
): Promise<PreparedMessage> => {
  const { draft, analysed } = request;
  requireFromDomain(caller, draft.from.address);
  requireOwnResentHeaders(caller, draft);
  const { domain, keyId, environment, organizationId, suspension } = caller;
  const {
    stream,
    ttlSeconds,
    trial,
    template,
    resendOf,
    scheduledAt = null,
    recipients: addressed,
    tracking: wanted,
    ...rest
  } = draft;
  const tracking = trackingOf(domain.tracking, wanted);
  const contentId = system.uuid();
  const recipients = addressed.map((recipient) => ({
    ...recipient,
    id: formatId('rcp', system.randomBytes(ID_BYTES)),
  }));
  const now = system.now();
  const leavesMs = scheduledAt === null ? now.getTime() : Date.parse(scheduledAt);
  const salted = await withSalts(system, { kind: 'message', messageId, ...rest, recipients, ...judgementIn(request) });
  return {
    contents: {
      id: contentId,
      organizationId,
      body: salted.body,
      searchWords: [
        ...subjectWordDigests(secret, draft.subject),
        ...addressDigests(secret, 'to', addressed),
        ...senderDigests(secret, draft.from),
        ...tagDigests(secret, draft.tags),
      ],
    },
    accept: {
      now: now.toISOString(),
      scheduledAt,
      suspension,
      refusal: refusalOf(request),
      blocking: analysed?.blocks === true ? analysed.analysis : null,
      // A test key needs no proof: nothing leaves.
      sendable: domain.verified || environment === 'test',
      accepted: {
        messageId,
        domainId: domain.id,
        keyId,
        contentId,
        bodyDigest,
        idempotent,
        internetMessageId: `<${messageId}@${domain.name}>`,
        fromDigest: repeatedDigest(secret, 'address', canonicalAddress(draft.from.address)),
        fromDomain: domain.name,
        recipients: recipients.map(({ id, kind, address }) => ({
          id,
          kind,
          domain: domainOf(address),
          digest: keyedDigest(secret, 'address', canonicalAddress(address)),
        })),
        tagDigests: draft.tags.map(({ name, value }) => repeatedDigest(secret, 'tag', `${name}\0${value}`)),
        subjectDigest: subjectDigest(secret, draft.subject),
        metadataDigests: Object.entries(draft.metadata).map(([name, value]) => metadataDigest(secret, name, value)),
        stream,
        ...(template === undefined ? {} : { template }),
        ...(trial === undefined ? {} : { trial }),
        ...(resendOf === undefined ? {} : { resendOf }),
        ...topicIn(request),
        sizeBytes: sizeOf(draft),
        expiresAt: new Date(leavesMs + ttlSeconds * SECOND_MS).toISOString(),
        ...(isTracked(tracking) ? { tracking } : {}),
        contentRoot: salted.root,
      },
    },
  };
};

/** Texts of at least this length are hashed in separate turns, so that other requests can run in between. */
const LONG_CHARACTERS = 65_536;
/** Some 0.3 ms of hashing. */
const SLICE_CHARACTERS = 262_144;

type Tools = { readonly system: Pick<System, 'monotonicMs'> };

const longDigest = async (tools: Tools, text: string): Promise<unknown> => {
  const starts = Array.from({ length: Math.ceil(text.length / SLICE_CHARACTERS) }, (_, index) => index);
  const digests = await mapConcurrently(starts, { ...tools, concurrency: 1 }, (index) =>
    sha256Hex(text.slice(index * SLICE_CHARACTERS, (index + 1) * SLICE_CHARACTERS)),
  );
  return { sha256: sha256Hex(digests.join('')), characters: text.length };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object with its long texts, of these fields, replaced. */
const shortened = async (tools: Tools, value: unknown, fields: readonly string[]): Promise<unknown> => {
  if (!isObject(value)) return value;
  const short: Record<string, unknown> = { ...value };
  for (const field of fields) {
    const text = short[field];
    if (typeof text === 'string' && text.length >= LONG_CHARACTERS) short[field] = await longDigest(tools, text);
  }
  return short;
};

/**
 * SHA-256 of what a send asks for, a parsed body before defaults: equal for equal values. The contents of attachments
 * and long bodies go into it as digests of their own: 29 MB hold the event loop for a few milliseconds at a time.
 */
export const bodyDigest = async (tools: Tools, body: unknown): Promise<string> => {
  const short = await shortened(tools, body, ['html', 'text']);
  if (isObject(short) && Array.isArray(short.attachments)) {
    const attachments = await mapConcurrently(
      short.attachments as readonly unknown[],
      { ...tools, concurrency: 1 },
      (each) => shortened(tools, each, ['content']),
    );
    return digestOf({ ...short, attachments });
  }
  return digestOf(short);
};

/** No field goes as deep as JSON must to end the stack: a message that does was refused, and all such are alike. */
const digestOf = (value: unknown): string => {
  try {
    return sha256Hex(canonicalJson(value));
  } catch (error) {
    if (error instanceof RangeError) return 'too deep';
    throw error;
  }
};
