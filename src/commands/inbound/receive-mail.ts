/** Use cases of inbound mail: a received mail becomes an inbound message of each of its recipients. */

import { hash } from 'node:crypto';
import {
  receiveInbound as decideReceiveInbound,
  type ExistingInbound,
  type Inbound,
  inbound,
  inboundId,
  requireInbound,
} from '../../domain/inbound/inbound.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { isId } from '../../domain/kernel/ids.ts';
import { inboundStream, messageStream, organizationStream } from '../../domain/kernel/streams.ts';
import { message } from '../../domain/message/message.ts';
import { senderDigests, subjectWordDigests } from '../../domain/message/search-words.ts';
import type { OrganizationSettings } from '../../domain/organization/events.ts';
import { organization, requireOrganization } from '../../domain/organization/organization.ts';
import type { InboundBody, MessageContents } from '../../domain/ports/contents.ts';
import type {
  AuthenticateMail,
  Authentication,
  InboundReader,
  MailClient,
  ReadMail,
  ReceivedRecipient,
} from '../../domain/ports/inbound.ts';
import { turnFor } from '../../lib/async/async.ts';
import { canonicalAddress, parseMailbox } from '../../lib/mime/mime.ts';
import { type CommandContext, eventContext, execute, type LoadedStream, load, type Origin } from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { addressDigest } from '../suppression.ts';

/** Ports that only receiving needs. */
export interface ReceivingPorts {
  readonly reader: InboundReader;
  readonly authenticate: AuthenticateMail;
  /** Counts what became of a mail, for the metrics. */
  readonly count: (outcome: ReceiveOutcome | DeferredOutcome) => void;
}

/** A mail for addresses of one organization. */
export interface ReceivedMail {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly raw: Buffer;
  /** Return path; empty for a report. */
  readonly from: string;
  /** Without duplicates. */
  readonly recipients: readonly ReceivedRecipient[];
  /** Null: the mail did not come by SMTP. */
  readonly client: MailClient | null;
}

/** `repeated`: all of it had been received before. `loop`: more than `HOPS_MAX` servers passed it on. */
export const RECEIVE_OUTCOMES = ['received', 'repeated', 'loop', 'dmarc_failed'] as const;
export type ReceiveOutcome = (typeof RECEIVE_OUTCOMES)[number];

/**
 * The client must try again. `limited`: too many mails a minute. `full`: too much mail is in memory. `failed`: the log, the vault
 * or the reader was away.
 */
export const DEFERRED_OUTCOMES = ['limited', 'full', 'failed'] as const;
type DeferredOutcome = (typeof DEFERRED_OUTCOMES)[number];

export interface ReceiveResult {
  readonly outcome: ReceiveOutcome;
  /** One for each recipient, in order; none if the mail was refused. */
  readonly inboundIds: readonly string[];
}

type Context = Pick<CommandContext, 'store' | 'secrets' | 'system'>;

/** RFC 5321 §6.3 asks for at least 100, but real mail has passed fewer than ten servers. A loop ends sooner. */
export const HOPS_MAX = 30;
/** Each costs a read of the log. A reply names the message that it answers first. */
const ANSWERED_MAX = 5;
/** Senders by whom a message is found. Mail has one, rarely two. */
const SENDERS_MAX = 10;

/** A Message-ID that this service has made. */
const OWN_MESSAGE_ID = /^<(msg_[a-z2-7]{26})@[^<>\s]+>$/;

const ownMessageId = (id: string | null): string | null => OWN_MESSAGE_ID.exec(id ?? '')?.[1] ?? null;

/** The message of the organization that the mail answers: anyone can write any Message-ID, so the log must have it. */
const findAnswered = async (
  { store }: Pick<Context, 'store'>,
  organizationId: string,
  { references }: ReadMail,
): Promise<string | null> => {
  const ids = [...new Set(references.flatMap((id) => ownMessageId(id) ?? []))];
  for (const id of ids.slice(0, ANSWERED_MAX)) {
    const { state } = await load(store, message, messageStream(id));
    if (state.status !== 'absent' && state.organizationId === organizationId) return id;
  }
  return null;
};

const isFailed = ({ verdicts }: Authentication): boolean => verdicts.dmarc === 'fail';

const isRefused = (authentication: Authentication, { inboundDmarc }: OrganizationSettings): boolean =>
  inboundDmarc === 'refuse' && isFailed(authentication) && authentication.dmarcPolicy !== 'none';

const senderDigestsOf = (secret: Uint8Array, { from }: ReceivedMail, read: ReadMail): string[] => {
  const written = [from, ...read.from.map(({ address }) => address)].slice(0, SENDERS_MAX);
  const known = written.filter((address) => typeof parseMailbox(address) !== 'string');
  return [...new Set(known.map((address) => addressDigest(secret, address)))];
};

/** A mail that was read and checked, with what the organization has decided about it. */
interface CheckedMail {
  readonly mail: ReceivedMail;
  readonly read: ReadMail;
  readonly authentication: Authentication;
  readonly secret: Uint8Array;
  readonly sha256: string;
  /** The mail in base64. */
  readonly content: string;
  readonly searchWords: readonly string[];
  readonly fromDigests: string[];
  readonly answered: string | null;
  readonly isMarked: boolean;
}

const searchWordsOf = (secret: Uint8Array, { subject, from: [sender] }: ReadMail): readonly string[] => [
  ...subjectWordDigests(secret, subject),
  ...(sender === undefined ? [] : senderDigests(secret, sender)),
];

const contentsOf = (
  { mail, read, content, searchWords }: CheckedMail,
  to: string,
  ids: { readonly inboundId: string; readonly contentId: string; readonly rawId: string },
): readonly MessageContents[] => {
  const { organizationId, from } = mail;
  const { references: _references, hops: _hops, isAutomatic: _isAutomatic, ...shown } = read;
  const body: InboundBody = { kind: 'inbound', inboundId: ids.inboundId, envelope: { from, to }, ...shown };
  const whole = { kind: 'inbound_raw', inboundId: ids.inboundId, content } as const;
  return [
    { id: ids.contentId, organizationId, body, searchWords },
    { id: ids.rawId, organizationId, body: whole },
  ];
};

/** Most mail is new. The stream is read only if the append finds that it exists. */
const UNHEARD_OF: LoadedStream<Inbound> = { state: inbound.initial, revision: 'no-stream' };

/** @returns the id of the copy, and whether it had not been received before. */
const receiveCopy = async (
  context: Context,
  origin: Origin,
  checked: CheckedMail,
  { domainId, address, route }: ReceivedRecipient,
): Promise<{ readonly id: string; readonly isNew: boolean }> => {
  const { mail, read, authentication, secret, sha256, fromDigests, answered, isMarked } = checked;
  const { organizationId, environment, from: sender, raw } = mail;
  const recipient = canonicalAddress(address);
  const id = inboundId({ organizationId, environment, recipient, sender, sha256 });
  const [contentId, rawId] = [context.system.uuid(), context.system.uuid()];
  const isAutomatic = read.isAutomatic || ownMessageId(read.internetMessageId) !== null;
  const { events } = await execute(context, {
    aggregate: inbound,
    stream: inboundStream(id),
    known: UNHEARD_OF,
    context: eventContext({ ...origin, organizationId, environment }, context.system.now().toISOString()),
    contents: contentsOf(checked, address, { inboundId: id, contentId, rawId }),
    decide: (state) =>
      decideReceiveInbound(state, {
        inboundId: id,
        domainId,
        contentId,
        rawId,
        bytes: raw.length,
        sha256,
        toDigest: addressDigest(secret, recipient),
        fromDigests,
        verdicts: authentication.verdicts,
        routeId: route?.routeId ?? null,
        action: route?.action ?? 'webhook',
        webhookId: route?.webhookId ?? null,
        inReplyToMessageId: answered,
        ...(isMarked ? { isMarked } : {}),
        ...(isAutomatic ? { isAutomatic } : {}),
      }),
  });
  return { id, isNew: events.length > 0 };
};

const receive = async (
  context: Context & ReceivingPorts,
  origin: Origin,
  mail: ReceivedMail,
): Promise<ReceiveResult> => {
  const { organizationId, raw, from, client } = mail;
  const read = await context.reader.read(raw, organizationId);
  if (read.hops > HOPS_MAX) return { outcome: 'loop', inboundIds: [] };
  const authentication = await context.authenticate(raw, { from, client });
  const { state } = await load(context.store, organization, organizationStream(organizationId));
  const { settings } = requireOrganization(state);
  if (isRefused(authentication, settings)) return { outcome: 'dmarc_failed', inboundIds: [] };
  const secret = await organizationSecret(context.secrets, organizationId);
  await turnFor(raw.length);
  const sha256 = hash('sha256', raw, 'hex');
  await turnFor(raw.length);
  const checked: CheckedMail = {
    mail,
    read,
    authentication,
    secret,
    sha256,
    content: raw.toString('base64'),
    searchWords: searchWordsOf(secret, read),
    fromDigests: senderDigestsOf(secret, mail, read),
    answered: await findAnswered(context, organizationId, read),
    isMarked: isFailed(authentication) && settings.inboundDmarc !== 'accept',
  };
  const copies: Awaited<ReturnType<typeof receiveCopy>>[] = [];
  for (const recipient of mail.recipients) {
    await turnFor(raw.length);
    copies.push(await receiveCopy(context, origin, checked, recipient));
  }
  const outcome = copies.some(({ isNew }) => isNew) ? 'received' : 'repeated';
  return { outcome, inboundIds: copies.map(({ id }) => id) };
};

/**
 * Reads, checks and records a mail, once for each recipient. When it resolves, the mail is in the vault and in the log.
 * The same mail, received again, changes nothing: its copies have the same ids.
 * @throws {Error} too many mails are waiting to be read, or the log or the vault is away. The client must try again.
 */
export const receiveMail = async (
  context: Context & ReceivingPorts,
  origin: Origin,
  mail: ReceivedMail,
): Promise<ReceiveResult> => {
  const result = await receive(context, origin, mail).catch((error: unknown) => {
    context.count('failed');
    throw error;
  });
  context.count(result.outcome);
  return result;
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const loadInbound = async (
  { store }: Pick<CommandContext, 'store'>,
  organizationId: string,
  id: string,
): Promise<ExistingInbound> => {
  if (!isId('inb', id)) throw new DomainError('not_found', 'inbound message not found');
  const { state } = await load(store, inbound, inboundStream(id));
  return requireInbound(state, organizationId);
};
