import { z } from 'zod';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { TRACKING_KEY_ID_BYTES, type TrackingKey, type TrackingKeys } from '../../domain/tracking/tracking.ts';
import { derived, type SecretKeys } from './secret-box.ts';

/**
 * Keys of tracked links. Each `SECRET_KEY` yields one, with an id of its own. Links live longer than a `SECRET_KEY`, so
 * the vault also holds the keys derived from earlier ones, and links in old mail still work. All are read when a
 * process starts; redirects need no database.
 */

const KEY_BYTES = 32;
/** Number of rotations that links survive. */
const KEYS_MAX = 100;

const ring = z.array(z.object({ id: z.string(), bytes: z.string() }));

const keyOf = (secretKey: string): TrackingKey => ({
  id: derived(secretKey, 'outbox tracking key id', TRACKING_KEY_ID_BYTES),
  bytes: derived(secretKey, 'outbox tracking v1', KEY_BYTES),
});

const textOf = ({ id, bytes }: TrackingKey): z.infer<typeof ring>[number] => ({
  id: Buffer.from(id).toString('base64'),
  bytes: Buffer.from(bytes).toString('base64'),
});

/** A row of the vault: the key derived from one `SECRET_KEY`, and those before it. */
const rowOf = ({ id }: TrackingKey): string => `tracking-keys-${Buffer.from(id).toString('hex')}`;

const stored = async (secrets: Pick<Secrets, 'get'>, key: TrackingKey): Promise<readonly TrackingKey[]> => {
  const text = await secrets.get(rowOf(key));
  if (text === undefined) return [];
  return ring
    .parse(JSON.parse(text))
    .map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64'), bytes: Buffer.from(bytes, 'base64') }));
};

/** Key ids are short. Two keys may share one, and both are tried. */
const withoutRepeats = (keys: readonly TrackingKey[]): readonly TrackingKey[] => [
  ...new Map(keys.map((key) => [Buffer.from(key.bytes).toString('base64'), key])).values(),
];

/** The keys of this process, the current one first. While `SECRET_KEY` is rotated, links of both keys are accepted. */
export const openTrackingKeys = async (
  secrets: Pick<Secrets, 'get' | 'put'>,
  { current, previous }: SecretKeys,
): Promise<TrackingKeys> => {
  const key = keyOf(current);
  const other = previous === undefined ? [] : [keyOf(previous)];
  const earlier = (await Promise.all(other.map((one) => stored(secrets, one)))).flat();
  const known = await stored(secrets, key);
  if (known.length === 0) {
    const all = withoutRepeats([key, ...other, ...earlier]).slice(0, KEYS_MAX);
    await secrets.put(rowOf(key), '', JSON.stringify(all.map(textOf)));
  }
  return [key, ...withoutRepeats([key, ...known, ...other, ...earlier]).slice(1)];
};
