import { retryWhileAway } from '../async/retry.ts';
import {
  createKeyCacheProjection,
  KEY_CACHE_CATEGORIES,
  type KeyCacheState,
  type KeyEntry,
} from '../domain/key-cache.ts';
import type { EventStore, ReadAllOptions, RecordedEvent } from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';
import { readFamilies } from '../domain/read-families.ts';

/** Organizations, domains and keys, folded from the log. */
export interface Directory extends KeyCacheState {
  /** Hash of the last secret that the service itself gave a key, by key id. */
  readonly serviceSecrets: ReadonlyMap<string, string>;
}

export interface DirectorySource {
  readonly store: Pick<EventStore, 'head' | 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

const secretIn = ({ data }: RecordedEvent): { readonly keyId: string; readonly hash: string } | null =>
  'secret' in data && 'keyId' in data ? { keyId: data.keyId, hash: data.secret.hash } : null;

/** Notes the secret of an event that the service itself caused. */
const noteService = (serviceSecrets: Map<string, string>, event: RecordedEvent): void => {
  const given = event.metadata.actor === 'service' ? secretIn(event) : null;
  if (given !== null) serviceSecrets.set(given.keyId, given.hash);
};

/** Folds the directory from the log. Retries while the log is unavailable for a moment. */
export const readDirectory = async ({ store, system }: DirectorySource): Promise<Directory> => {
  const keyCache = createKeyCacheProjection();
  const serviceSecrets = new Map<string, string>();
  const head = await retryWhileAway({ system }, store.head);
  const patient = { readAll: (options: ReadAllOptions) => retryWhileAway({ system }, () => store.readAll(options)) };
  for await (const { events } of readFamilies(patient, { categories: KEY_CACHE_CATEGORIES, to: head })) {
    for (const event of events) {
      keyCache.apply(event);
      noteService(serviceSecrets, event);
    }
  }
  return { ...keyCache, serviceSecrets };
};

/** The admin key created at the first start, in whatever state. */
export const firstAdminKey = ({ keys, serviceSecrets }: Directory): KeyEntry | undefined =>
  [...keys.values()].find(({ key }) => key.environment === 'live' && serviceSecrets.has(key.keyId));
