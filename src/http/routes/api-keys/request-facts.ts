import { readWholeStream } from '../../../commands/execute.ts';
import { allows } from '../../../domain/api-key/events.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { EventContext, EventStore, RecordedEvent } from '../../../domain/kernel/event-store.ts';
import type { ApiKeyEvent } from '../../../domain/kernel/events.ts';
import { apiKeyStream } from '../../../domain/kernel/streams.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import type { RequestFacts } from '../../schemas/key-history.ts';

const KEY_ACTOR = 'key:';

/** Streams read at once. More takes connections from other requests, fewer makes a page of many keys slower. */
const CONCURRENCY = 4;

/** Last characters of all secrets of a key, the first one first; none if the caller may not see the key. */
const last4sOf = async (store: EventStore, caller: Caller, keyId: string): Promise<readonly string[]> => {
  // The stream of a key holds key events only.
  const events = (await readWholeStream(store, apiKeyStream(keyId))) as readonly RecordedEvent<ApiKeyEvent>[];
  const [first] = events;
  if (first?.type !== 'KeyCreated' || first.metadata.organizationId !== caller.organizationId) return [];
  if (caller.environment === 'test' && first.data.environment === 'live') return [];
  return events.flatMap(({ type, data }) =>
    type === 'KeyCreated' || type === 'KeyRotated' ? [data.secret.last4] : [],
  );
};

const keyIdOf = ({ actor, secret }: EventContext): string | null =>
  secret !== undefined && actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : null;

/** Auditors, and live keys with `admin`. */
const seesAddresses = ({ auditor, environment, permissions }: Caller): boolean =>
  auditor !== undefined || (environment === 'live' && allows(permissions, 'admin'));

/** Reads which secrets made these events, and from where. @param all contexts of a page of events. */
export const readRequestFacts = async (
  { context: { store, system }, requestOrigins }: Pick<HttpDependencies, 'context' | 'requestOrigins'>,
  caller: Caller,
  all: readonly EventContext[],
): Promise<RequestFacts> => {
  const keyIds = new Set(all.map(keyIdOf).filter((keyId) => keyId !== null));
  const origins = all.map(({ originId }) => originId).filter((originId) => originId !== undefined);
  const [last4s, addresses] = await Promise.all([
    mapConcurrently([...keyIds], { system, concurrency: CONCURRENCY }, async (keyId) => {
      return [keyId, await last4sOf(store, caller, keyId)] as const;
    }),
    seesAddresses(caller) && origins.length > 0
      ? requestOrigins.addressesOf(caller.organizationId, origins)
      : new Map<string, string>(),
  ]);
  const secrets = new Map(last4s);
  return {
    secretLast4: (metadata) => secrets.get(keyIdOf(metadata) ?? '')?.[(metadata.secret ?? 0) - 1] ?? null,
    address: ({ originId = '' }) => addresses.get(originId) ?? null,
  };
};
