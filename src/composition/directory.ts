import { type EventStore, LOG_START, type RecordedEvent } from '../domain/event-store.ts';
import { patiently } from '../domain/patiently.ts';
import { createRegister, type KeyEntry, REGISTER_CATEGORIES, type Register } from '../domain/register.ts';
import type { System } from '../domain/system.ts';

/** Everything an operator names. */
export interface Directory extends Register {
  /** Of keys that the service itself made: hash of the last secret that it gave them. */
  readonly serviceSecrets: ReadonlyMap<string, string>;
}

export interface DirectorySource {
  readonly store: Pick<EventStore, 'head' | 'readAll'>;
  readonly system: Pick<System, 'monotonicMs' | 'sleep'>;
}

const PAGE = 1000;

const secretIn = ({ data }: RecordedEvent): { readonly keyId: string; readonly hash: string } | null =>
  'secret' in data && 'keyId' in data ? { keyId: data.keyId, hash: data.secret.hash } : null;

/** Notes the secret that an event gives, if the service itself gave it. */
const noteService = (serviceSecrets: Map<string, string>, event: RecordedEvent): void => {
  const given = event.metadata.actor === 'service' ? secretIn(event) : null;
  if (given !== null) serviceSecrets.set(given.keyId, given.hash);
};

/** All of the log that concerns it, folded; waits for a log that is away for a moment. */
export const readDirectory = async ({ store, system }: DirectorySource): Promise<Directory> => {
  const register = createRegister();
  const serviceSecrets = new Map<string, string>();
  const head = await patiently({ system }, store.head);
  const filter = { categories: REGISTER_CATEGORIES };
  let from = LOG_START;
  while (from < head) {
    const page = await patiently({ system }, () => store.readAll({ from, limit: PAGE, filter }));
    for (const event of page.events) {
      register.apply(event);
      noteService(serviceSecrets, event);
    }
    if (page.position === from) break;
    from = page.position;
  }
  return { ...register, serviceSecrets };
};

/** The admin key that the service itself made at its first start, whatever has become of it. */
export const firstAdminKey = ({ keys, serviceSecrets }: Directory): KeyEntry | undefined =>
  [...keys.values()].find(({ key }) => key.environment === 'live' && serviceSecrets.has(key.keyId));
