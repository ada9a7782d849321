import { inTurns } from '../../../async/turns.ts';
import { partHash, rootOfParts } from '../../../domain/audit/content-proof.ts';
import type { MessageEvent } from '../../../domain/events.ts';
import { saltedParts } from '../../../domain/message/content-parts.ts';
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
import { type EventStore, READ_STREAM_LIMIT, type RecordedEvent } from '../../../domain/ports/event-store.ts';
import { WrongSecretKey } from '../../../domain/ports/secrets.ts';
import { erasureStream, organizationStream } from '../../../domain/streams.ts';

/**
 * Compares the contents in the vault with the roots in the log. Of what was removed, the hashes that are left are compared,
 * and the removal must be on record: an erasure in the log, or retention after the time that contents are kept at least.
 */
export interface CompareContents {
  readonly contents: Pick<Contents, 'get'>;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly signal: AbortSignal;
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

export interface ContentsCompared {
  readonly contents: number;
  /** Of these no hashes are left: what had been encrypted with a key that is gone was removed. */
  readonly withoutHashes: number;
}

type Bound = RecordedEvent<Extract<MessageEvent, { readonly type: 'MessageAccepted' }>>;

const isBound = (event: RecordedEvent): event is Bound =>
  event.type === 'MessageAccepted' && event.data.contentRoot !== undefined;

/** Each may have 40 MB. */
const BODIES_AT_ONCE = 4;
/** What is remembered of erasures and organizations. Forgotten all at once, and read again. */
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

const GONE = 'its content is gone, and neither an erasure nor retention is on record';

/** A row that somebody has changed may have any form. @returns null: it is not to blame. */
const unreadableBy = (error: unknown): string | null => {
  if (error instanceof WrongSecretKey) return 'its content cannot be decrypted with SECRET_KEY';
  return error instanceof TypeError ? 'its content cannot be read' : null;
};

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
  let [compared, withoutHashes] = [0, 0];

  /** Of whom an erasure removes; null: there is no such erasure. */
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

  const reasonFault = async ({ metadata }: Bound, reason: Reason): Promise<string | null> => {
    const { organizationId, occurredAt } = metadata;
    if (reason.kind === 'erased') {
      const isOnRecord = (await organizationOf(reason.erasureId)) === organizationId;
      return isOnRecord ? null : `its content was removed by the erasure ${reason.erasureId}, which is not in the log`;
    }
    const keptMs = Date.parse(reason.at) - Date.parse(occurredAt);
    const isOnRecord = !Number.isNaN(keptMs) && !(await isTooEarly(organizationId, keptMs));
    return isOnRecord ? null : `its content was removed at ${reason.at}, before the time that contents are kept`;
  };

  const rootFault = ({ data }: Bound, hashes: readonly Buffer[], what: string): string | null =>
    rootOfParts(hashes).toString('base64') === data.contentRoot ? null : what;

  const removedFault = async (event: Bound, body: RemovedContent): Promise<string | null> => {
    for (const reason of reasonsOf(body)) {
      const fault = await reasonFault(event, reason);
      if (fault !== null) return fault;
    }
    if (body.parts === undefined) {
      withoutHashes += 1;
      return null;
    }
    const hashes = body.parts.map((part) => (isKeptPart(part) ? partHash(part) : Buffer.from(part.hash, 'base64')));
    return rootFault(event, hashes, 'what is left of its content is of another one');
  };

  const faultOf = async (event: Bound, body: StoredBody): Promise<string | null> => {
    if (isRemoved(body)) return removedFault(event, body);
    const parts = body.kind === 'message' ? await inTurns(saltedParts(body)) : null;
    if (parts === null) return 'what stands in the place of its content is bound to nothing';
    return rootFault(event, parts.map(partHash), 'its content is another than the one that was accepted');
  };

  const sentenceOf = async (event: Bound): Promise<string | null> => {
    const { contentId } = event.data;
    try {
      const body = (await contents.get([contentId])).get(contentId);
      return body === undefined ? GONE : await faultOf(event, body);
    } catch (error) {
      const unreadable = unreadableBy(error);
      if (unreadable === null) throw error;
      return unreadable;
    }
  };

  const compareOne = async (event: Bound): Promise<void> => {
    compared += 1;
    const fault = await sentenceOf(event);
    const { messageId } = event.data;
    if (fault !== null)
      onFault(`message ${messageId} of ${event.metadata.organizationId}, event ${event.id}: ${fault}`);
  };

  return {
    /** Those that events of a page are bound to. */
    compare: async (events: readonly RecordedEvent[]): Promise<void> => {
      const bound = events.filter(isBound);
      for (let from = 0; from < bound.length; from += BODIES_AT_ONCE) {
        signal.throwIfAborted();
        await Promise.all(bound.slice(from, from + BODIES_AT_ONCE).map(compareOne));
      }
    },
    counts: (): ContentsCompared => ({ contents: compared, withoutHashes }),
  };
};
