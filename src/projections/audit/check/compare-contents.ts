import { type EventStore, READ_STREAM_LIMIT, type RecordedEvent } from '../../../domain/kernel/event-store.ts';
import { erasureStream, organizationStream } from '../../../domain/kernel/streams.ts';
import { replyPart, saltedParts } from '../../../domain/message/draft.ts';
import type { SmtpFacts } from '../../../domain/message/events.ts';
import { DEFAULT_SETTINGS } from '../../../domain/organization/organization.ts';
import {
  type Contents,
  type ErasedContent,
  type ExpiredContent,
  isKeptPart,
  isRemoved,
  type RemovedContent,
  type StoredBody,
} from '../../../domain/ports/contents.ts';
import { ORIGIN_DAYS, type RequestOrigins } from '../../../domain/ports/requests.ts';
import { WrongSecretKey } from '../../../domain/ports/secrets.ts';
import { inTurns, type System } from '../../../lib/async/async.ts';
import { partHash, rootOfPart, rootOfParts, type SaltedPart } from '../../../lib/transparency/transparency.ts';

/**
 * Compares contents in the vault with the roots in the log: bodies of messages and replies of mail servers. For removed
 * contents the remaining hashes are compared, and the removal must be justified: by an erasure in the log, or by the
 * minimum retention having passed.
 */
interface CompareContents {
  readonly contents: Pick<Contents, 'get'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly signal: AbortSignal;
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

export interface ContentComparison {
  readonly contents: number;
  readonly replies: number;
  /** Contents without hashes: they were encrypted with a key that has been destroyed. */
  readonly withoutHashes: number;
}

/** Contents whose root hash an event records. */
interface BoundContent {
  readonly what: 'content' | 'reply';
  readonly event: RecordedEvent;
  readonly messageId: string;
  /** Id in the vault. */
  readonly contentId: string;
  /** base64 */
  readonly root: string;
}

const contentOf = (event: RecordedEvent): readonly BoundContent[] => {
  if (event.type !== 'MessageAccepted') return [];
  const { messageId, contentId, contentRoot: root } = event.data;
  return root === undefined ? [] : [{ what: 'content', event, messageId, contentId, root }];
};

const REPLYING: ReadonlySet<string> = new Set([
  'RecipientDelivered',
  'RecipientDeferred',
  'RecipientBounced',
  'RecipientReportNoted',
]);

const replyOf = (event: RecordedEvent): readonly BoundContent[] => {
  if (!REPLYING.has(event.type)) return [];
  const { messageId, smtp } = event.data as { readonly messageId: string; readonly smtp?: SmtpFacts };
  if (smtp === undefined) return [];
  const { replyId, replyRoot: root } = smtp;
  return replyId === null || root === undefined ? [] : [{ what: 'reply', event, messageId, contentId: replyId, root }];
};

/** Each may have 40 MB. */
const BODIES_AT_ONCE = 4;
/** Replies have a few hundred bytes, so one query loads many. */
const REPLIES_AT_ONCE = 100;
/** Cached facts about erasures and organizations. A full cache is cleared and read again. */
const REMEMBERED_MAX = 10_000;
const DAY_MS = 86_400_000;
/** Clocks of the database and of processes may differ. */
const TOLERANCE_MS = 3_600_000;

type Reason = Pick<ExpiredContent, 'kind' | 'at'> | Pick<ErasedContent, 'kind' | 'at' | 'erasureId'>;

const reasonsOf = (body: RemovedContent): readonly Reason[] => {
  const later = (body.parts ?? []).flatMap((part) => (isKeptPart(part) ? [] : (part.later ?? [])));
  return [body, ...later];
};

const remembering = <Value>(find: (id: string) => Promise<Value>): ((id: string) => Promise<Value>) => {
  const known = new Map<string, Value>();
  return async (id) => {
    if (known.has(id)) return known.get(id) as Value;
    const found = await find(id);
    if (known.size === REMEMBERED_MAX) known.clear();
    known.set(id, found);
    return found;
  };
};

const NO_RECORD = 'without a record of an erasure or of retention';
const DONE = { content: 'accepted', reply: 'received' } as const;

/** A manipulated row may have any form. @returns null if the row is not the cause. */
const unreadableBy = (error: unknown, what: BoundContent['what']): string | null => {
  if (error instanceof WrongSecretKey) return `its ${what} cannot be decrypted with SECRET_KEY`;
  return error instanceof TypeError ? `its ${what} cannot be read` : null;
};

/** null: it is bound to nothing. */
const partsIn = async ({ what }: BoundContent, body: StoredBody): Promise<readonly SaltedPart[] | null> => {
  if (what === 'content' && body.kind === 'message') return inTurns(saltedParts(body));
  const reply = what === 'reply' && body.kind === 'reply' ? replyPart(body) : null;
  return reply === null ? null : [reply];
};

const rootFault = ({ root }: BoundContent, hashes: readonly Buffer[], fault: string): string | null =>
  rootOfParts(hashes).toString('base64') === root ? null : fault;

const daysIn = (event: RecordedEvent): readonly number[] =>
  event.type === 'OrganizationUpdated' ? [event.data.contentDays ?? DEFAULT_SETTINGS.contentDays] : [];

/** The shortest time that an organization has ever kept contents for. */
const keptDaysMin = async (store: Pick<EventStore, 'readStream'>, organizationId: string): Promise<number> => {
  let days: number = DEFAULT_SETTINGS.contentDays;
  for (let from = 0; ; from += READ_STREAM_LIMIT) {
    const events = await store.readStream(organizationStream(organizationId), { from });
    days = Math.min(days, ...events.flatMap(daysIn));
    if (events.length < READ_STREAM_LIMIT) return days;
  }
};

export const createContentComparison = ({ contents, store, signal, onFault }: CompareContents) => {
  const counts = { contents: 0, replies: 0, withoutHashes: 0 };

  /** Organization of an erasure; null if the erasure does not exist. */
  const organizationOf = remembering(async (erasureId: string) => {
    const [requested] = await store.readStream(erasureStream(erasureId), { limit: 1 });
    return requested?.type === 'ErasureRequested' ? requested.metadata.organizationId : null;
  });

  const rememberedDays = remembering((organizationId: string) => keptDaysMin(store, organizationId));

  /** It may have been made shorter since it was remembered. */
  const isTooEarly = async (organizationId: string, keptMs: number): Promise<boolean> => {
    const isWithin = (days: number): boolean => keptMs + TOLERANCE_MS < days * DAY_MS;
    return isWithin(await rememberedDays(organizationId)) && isWithin(await keptDaysMin(store, organizationId));
  };

  const reasonFault = async ({ event, what }: BoundContent, reason: Reason): Promise<string | null> => {
    const { organizationId, occurredAt } = event.metadata;
    if (reason.kind === 'erased') {
      const isOnRecord = (await organizationOf(reason.erasureId)) === organizationId;
      return isOnRecord ? null : `its ${what} was removed by erasure ${reason.erasureId}, which is not in the log`;
    }
    const keptMs = Date.parse(reason.at) - Date.parse(occurredAt);
    const isOnRecord = !Number.isNaN(keptMs) && !(await isTooEarly(organizationId, keptMs));
    return isOnRecord ? null : `its ${what} was removed at ${reason.at}, before its retention ended`;
  };

  const removalFault = async (bound: BoundContent, body: RemovedContent): Promise<string | null> => {
    for (const reason of reasonsOf(body)) {
      const fault = await reasonFault(bound, reason);
      if (fault !== null) return fault;
    }
    return null;
  };

  /** Fault of the remaining hashes. For a reply the only one is its root. */
  const restFault = (bound: BoundContent, { parts }: RemovedContent): string | null => {
    if (bound.what === 'reply') return null;
    if (parts === undefined) {
      counts.withoutHashes += 1;
      return null;
    }
    const hashes = parts.map((part) => (isKeptPart(part) ? partHash(part) : Buffer.from(part.hash, 'base64')));
    return rootFault(bound, hashes, 'the rest of its content belongs to another message');
  };

  const faultOf = async (bound: BoundContent, body: StoredBody): Promise<string | null> => {
    if (isRemoved(body)) return (await removalFault(bound, body)) ?? restFault(bound, body);
    const { what } = bound;
    const parts = await partsIn(bound, body);
    if (parts === null) return `its ${what} was replaced by something that no event covers`;
    return rootFault(bound, parts.map(partHash), `its ${what} differs from the one that was ${DONE[what]}`);
  };

  const sentenceOf = async (bound: BoundContent): Promise<string | null> => {
    const { contentId, what } = bound;
    try {
      const body = (await contents.get([contentId])).get(contentId);
      return body === undefined ? `its ${what} is missing ${NO_RECORD}` : await faultOf(bound, body);
    } catch (error) {
      const unreadable = unreadableBy(error, what);
      if (unreadable === null) throw error;
      return unreadable;
    }
  };

  const compareOne = async (bound: BoundContent): Promise<void> => {
    const fault = await sentenceOf(bound);
    const { event, messageId } = bound;
    if (fault !== null)
      onFault(`message ${messageId} of ${event.metadata.organizationId}, event ${event.id}: ${fault}`);
  };

  const compareAll = async (all: readonly BoundContent[], atOnce: number): Promise<void> => {
    for (let from = 0; from < all.length; from += atOnce) {
      signal.throwIfAborted();
      await Promise.all(all.slice(from, from + atOnce).map(compareOne));
    }
  };

  return {
    /** Those that events of a page are bound to. */
    compare: async (events: readonly RecordedEvent[]): Promise<void> => {
      const [bodies, replies] = [events.flatMap(contentOf), events.flatMap(replyOf)];
      counts.contents += bodies.length;
      counts.replies += replies.length;
      await compareAll(bodies, BODIES_AT_ONCE);
      await compareAll(replies, REPLIES_AT_ONCE);
    },
    counts: (): ContentComparison => ({ ...counts }),
  };
};

/** Compares the clients behind changes, in the vault, with the roots in the log. Nothing but their age removes them. */
interface CompareOrigins {
  readonly origins: Pick<RequestOrigins, 'partOf'>;
  readonly system: Pick<System, 'now'>;
  readonly signal: AbortSignal;
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

export interface OriginComparison {
  readonly clients: number;
}

/** Each is a query. More takes connections from requests. */
const AT_ONCE = 4;

const isBound = ({ metadata }: RecordedEvent): boolean => metadata.originRoot !== undefined;

export const createOriginComparison = ({ origins, system, signal, onFault }: CompareOrigins) => {
  let clients = 0;

  const faultOf = async ({ metadata }: RecordedEvent): Promise<string | null> => {
    const { organizationId, originId = '', originRoot, occurredAt } = metadata;
    const part = await origins.partOf(organizationId, originId);
    if (part !== null)
      return rootOfPart(part) === originRoot ? null : 'its recorded client differs from the one that made the request';
    const isOver = Date.parse(occurredAt) + ORIGIN_DAYS * DAY_MS < system.now().getTime() + TOLERANCE_MS;
    return isOver ? null : `its recorded client was removed before ${ORIGIN_DAYS} days had passed`;
  };

  const compareOne = async (event: RecordedEvent): Promise<void> => {
    const fault = await faultOf(event);
    if (fault !== null) onFault(`event ${event.id} of ${event.metadata.organizationId}: ${fault}`);
  };

  return {
    /** Those that events of a page are bound to. */
    compare: async (events: readonly RecordedEvent[]): Promise<void> => {
      const bound = events.filter(isBound);
      clients += bound.length;
      for (let from = 0; from < bound.length; from += AT_ONCE) {
        signal.throwIfAborted();
        await Promise.all(bound.slice(from, from + AT_ONCE).map(compareOne));
      }
    },
    counts: (): OriginComparison => ({ clients }),
  };
};
