import { createPublicKey } from 'node:crypto';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { DkimKey } from '../../src/domain/sending-domain/events.ts';
import type { Observer } from './observer.ts';

/** A DKIM key mentioned in the log. */
export interface DkimKeyRecord {
  readonly selector: string;
  /** True if the vault has the matching private key. */
  readonly fits: boolean;
  /** True if the log says so. */
  readonly isDestroyed: boolean;
}

/** An Ed25519 key is published raw, which is the end of its SubjectPublicKeyInfo (RFC 8410 §4). */
const isHalfOf = (privateKey: string, { publicKey }: DkimKey): boolean =>
  createPublicKey(privateKey)
    .export({ type: 'spki', format: 'der' })
    .subarray(-Buffer.from(publicKey, 'base64').length)
    .equals(Buffer.from(publicKey, 'base64'));

const keysIn = ({ type, data }: RecordedEvent): readonly DkimKey[] => {
  if (type === 'DomainRegistered') return data.dkim;
  return type === 'DkimKeysAdded' ? data.keys : [];
};

const destroyedIn = ({ type, data }: RecordedEvent): readonly string[] =>
  type === 'DkimKeysDestroyed' ? data.keys.map(({ secretId }) => secretId) : [];

/** Looks up every DKIM key of the log in the vault. */
export const dkimKeysFound = (
  { context }: Pick<Observer, 'context'>,
  events: readonly RecordedEvent[],
): Promise<readonly DkimKeyRecord[]> => {
  const destroyed = new Set(events.flatMap(destroyedIn));
  return Promise.all(
    events.flatMap(keysIn).map(async (key) => {
      const privateKey = await context.secrets.get(key.secretId);
      const fits = privateKey !== undefined && isHalfOf(privateKey, key);
      return { selector: key.selector, fits, isDestroyed: destroyed.has(key.secretId) };
    }),
  );
};
