import type { Append, EventContext, EventStore, NewEvent } from '../../src/domain/kernel/event-store.ts';
import type { MessageEvent } from '../../src/domain/kernel/events.ts';
import { formatId, formatTimedId, ID_BYTES } from '../../src/domain/kernel/ids.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { type AcceptMessage, acceptMessage } from '../../src/domain/message/accept-message.ts';
import { type AttemptOutcome, claimAttempt, recordAttempt } from '../../src/domain/message/attempt.ts';
import { type Message, message } from '../../src/domain/message/message.ts';
import type { System } from '../../src/lib/async/async.ts';

/** Outcomes of messages on a busy day, per hundred, with their recipients and attempts. */
const FATES = [
  { share: 90, recipients: 1, attempts: ['delivered'] },
  { share: 4, recipients: 2, attempts: ['delivered'] },
  { share: 3, recipients: 1, attempts: ['deferred', 'delivered'] },
  { share: 3, recipients: 1, attempts: ['bounced'] },
] as const;
type Fate = (typeof FATES)[number];

const START_MS = Date.parse('2026-03-02T00:00:00.000Z');
/** Makes forty thousand messages a day, which fill a hundred buckets of statistics. */
const MESSAGE_EVERY_MS = 2_000;
const DELIVERY_MS = 1_500;
const RETRY_MS = 3_600_000;
const LEASE_MS = 20_000;
const DAY_MS = 86_400_000;

const ORGANIZATIONS = 3;
const KEYS = 7;
const DOMAINS = ['example.com', 'example.net', 'example.org', 'mail.example', 'post.example', 'a.example', 'b.example'];

const fateOf = (number: number): Fate => {
  let rest = number % 100;
  for (const fate of FATES) {
    if (rest < fate.share) return fate;
    rest -= fate.share;
  }
  return FATES[0];
};

const hex = (system: System, bytes: number): string => Buffer.from(system.randomBytes(bytes)).toString('hex');
const paddedId = (prefix: 'org' | 'key' | 'dom', number: number): string =>
  formatId(
    prefix,
    Uint8Array.from({ length: ID_BYTES }, () => number),
  );

const DIGEST_BYTES = 16;
/** Digests of senders and tags, which repeat. */
const repeatedDigest = (number: number): string => number.toString(16).padStart(2 * DIGEST_BYTES, '7');
/** Random roots of contents and replies. */
const root = (system: System): string => Buffer.from(system.randomBytes(32)).toString('base64');

/** A `MessageAccepted` event as the command creates it, about 700 bytes of JSON. */
const acceptedBy = (system: System, number: number, recipients: number): readonly MessageEvent[] => {
  const acceptedAtMs = START_MS + number * MESSAGE_EVERY_MS;
  const messageId = formatTimedId('msg', acceptedAtMs, system.randomBytes(ID_BYTES));
  const accepted: AcceptMessage['accepted'] = {
    messageId,
    contentId: system.uuid(),
    stream: 'transactional',
    sizeBytes: 1300,
    domainId: paddedId('dom', number % ORGANIZATIONS),
    keyId: paddedId('key', number % KEYS),
    internetMessageId: `<${messageId}@example.test>`,
    bodyDigest: hex(system, DIGEST_BYTES),
    idempotent: false,
    fromDigest: repeatedDigest(number % KEYS),
    fromDomain: 'example.test',
    recipients: Array.from({ length: recipients }, (_, index) => ({
      id: formatId('rcp', system.randomBytes(ID_BYTES)),
      kind: index === 0 ? 'to' : 'cc',
      domain: DOMAINS[(number + index) % DOMAINS.length] ?? '',
      digest: hex(system, DIGEST_BYTES),
    })),
    tagDigests: [repeatedDigest(number % DOMAINS.length)],
    subjectDigest: hex(system, DIGEST_BYTES),
    metadataDigests: [hex(system, DIGEST_BYTES)],
    expiresAt: new Date(acceptedAtMs + 3 * DAY_MS).toISOString(),
    contentRoot: root(system),
  };
  return acceptMessage(message.initial, {
    accepted,
    now: new Date(acceptedAtMs).toISOString(),
    scheduledAt: null,
    sendable: true,
    refusal: null,
    blocking: null,
  });
};

const contextAt = (number: number, atMs: number, actor: string, messageId: string): EventContext => ({
  $correlationId: messageId,
  $causationId: messageId,
  actor,
  environment: 'live',
  requestId: null,
  occurredAt: new Date(atMs).toISOString(),
  organizationId: paddedId('org', number % ORGANIZATIONS),
  ...(actor.startsWith('key:') ? { secret: 1 } : {}),
});

const outcomesOf = (system: System, recipientIds: readonly string[], kind: Fate['attempts'][number]) =>
  recipientIds.map((recipientId): AttemptOutcome => {
    const session = {
      mx: 'mx1.example.net',
      tls: 'TLSv1.3',
      cipher: 'TLS_AES_256_GCM_SHA384',
      policy: 'opportunistic',
      address: '192.0.2.1',
      stage: kind === 'delivered' ? 'content' : 'recipient',
      replyId: system.uuid(),
      replyRoot: root(system),
    } as const;
    if (kind === 'delivered') return { recipientId, outcome: kind, smtp: { code: 250, enhanced: '2.0.0', ...session } };
    const smtp = { code: kind === 'bounced' ? 550 : 451, enhanced: kind === 'bounced' ? '5.1.1' : '4.7.1', ...session };
    return { recipientId, outcome: kind, smtp, reason: 'refused by the recipient server' };
  });

/** The appends over the life of one message, in order. */
export const lifeOf = (system: System, number: number): readonly Append[] => {
  const fate = fateOf(number);
  const appends: Append[] = [];
  let state: Message = message.initial;
  let atMs = START_MS + number * MESSAGE_EVERY_MS;
  let revision = -1;
  const happen = (events: readonly MessageEvent[], actor: string): void => {
    const first = events[0];
    if (first === undefined) throw new Error('a decision of a realistic message came to nothing');
    const { messageId } = first.data;
    const context = contextAt(number, atMs, actor, messageId);
    const expected = revision === -1 ? 'no-stream' : revision;
    const withIds = events.map((event): NewEvent => ({ ...event, id: system.uuid() }));
    appends.push({ stream: messageStream(messageId), expected, events: withIds, context });
    state = events.reduce((before, event) => message.evolve(before, event, context), state);
    revision += events.length;
  };

  happen(acceptedBy(system, number, fate.recipients), 'key:bench');
  for (const [index, kind] of fate.attempts.entries()) {
    atMs += index === 0 ? DELIVERY_MS : RETRY_MS;
    const now = new Date(atMs).toISOString();
    const leaseUntil = new Date(atMs + LEASE_MS).toISOString();
    const started = claimAttempt(state, { now, leaseUntil, random: 0.5 });
    happen(started, 'worker:deliver-message');
    const recipientIds = started.flatMap((event) => (event.type === 'AttemptStarted' ? event.data.recipientIds : []));
    const outcomes = outcomesOf(system, recipientIds, kind);
    happen(recordAttempt(state, { attempt: index + 1, outcomes, now, random: 0.5 }), 'worker:deliver-message');
  }
  return appends;
};

/** Messages in flight at the same time. Their events interleave in the log, as in production. */
const WINDOW_MESSAGES = 300;

/** Appends message lives until the log has at least this many events. @returns the number of events. */
export const fillLog = async (store: EventStore, system: System, eventsMin: number): Promise<number> => {
  let events = 0;
  let number = 0;
  while (events < eventsMin) {
    const lives = Array.from({ length: WINDOW_MESSAGES }, (_, index) => lifeOf(system, number + index));
    number += WINDOW_MESSAGES;
    const steps = Math.max(...lives.map(({ length }) => length));
    for (let step = 0; step < steps; step += 1) {
      const appends = lives.flatMap((life) => life[step] ?? []);
      await Promise.all(appends.map((append) => store.append(append)));
      events += appends.reduce((sum, append) => sum + append.events.length, 0);
    }
  }
  return events;
};
