import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { keyedBytes } from '../../domain/kernel/digest.ts';
import type { TrackingKeys } from '../../domain/tracking/tracking-token.ts';

/**
 * An address that the identity provider has verified, until its owner chooses a membership. The text names the memberships
 * and when it ends, with a MAC over both and over a value in a cookie of the browser. Nothing is stored, so no number of
 * requests fills anything. It starts one session: the session's id follows from the transaction with the provider.
 */

/** Longer: a choice on a screen that was left open can be used for longer. Shorter: people who read first begin again. */
export const CHOICE_SECONDS = 600;

/** Memberships to choose from. Higher: longer answers and texts. Lower: a person with many organizations misses some. */
export const MEMBERSHIPS_MAX = 50;

const choiceSchema = z.strictObject({
  endsMs: z.number(),
  memberIds: z.array(z.string()),
  issuer: z.string(),
  transactionHash: z.string(),
});

export type SignInChoice = Readonly<Omit<z.infer<typeof choiceSchema>, 'endsMs'>>;

const macOf = ({ bytes }: Pick<TrackingKeys[number], 'bytes'>, browser: string, payload: string): Buffer =>
  keyedBytes(bytes, 'sign-in choice', `${browser}\0${payload}`);

/** @param browser value of its cookie. */
export const makeChoice = ([key]: TrackingKeys, browser: string, choice: SignInChoice, now: Date): string => {
  const { memberIds, issuer, transactionHash } = choice;
  const sealed = { endsMs: now.getTime() + CHOICE_SECONDS * 1000, memberIds, issuer, transactionHash };
  const payload = Buffer.from(JSON.stringify(sealed)).toString('base64url');
  return `${payload}.${macOf(key, browser, payload).toString('base64url')}`;
};

/** @returns null: this service did not make it for this browser, or it has ended. */
export const readChoice = (keys: TrackingKeys, browser: string, text: string, now: Date): SignInChoice | null => {
  const [payload = '', mac = '', ...more] = text.split('.');
  const given = Buffer.from(mac, 'base64url');
  const isOwn = keys.some((key) => {
    const own = macOf(key, browser, payload);
    return own.length === given.length && timingSafeEqual(own, given);
  });
  if (!isOwn || more.length > 0) return null;
  const { endsMs, ...choice } = choiceSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  return endsMs > now.getTime() ? choice : null;
};
