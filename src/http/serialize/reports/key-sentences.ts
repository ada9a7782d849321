import type { RateLimits } from '../../../domain/kernel/rate-limits.ts';
import type { KeyHistoryEvent } from '../../schemas/key-history.ts';
import { atTime, listed } from '../explain/explanation.ts';

/** Events of an API key as sentences. */

type Of<Type> = Extract<KeyHistoryEvent, { readonly type: Type }>['data'];

const networks = (cidrs: readonly string[]): string =>
  cidrs.length === 0 ? 'It may be used from anywhere.' : `It may be used from ${listed(cidrs)} only.`;

const expiry = (at: string | null): string => (at === null ? 'It does not expire.' : `It expires at ${atTime(at)}.`);

const limits = (rateLimits: RateLimits): string => {
  const named = Object.entries(rateLimits).map(([kind, limit]) => `${kind} ${limit}`);
  return named.length === 0 ? 'It has the usual rate limits.' : `Its own rate limits are ${listed(named)}.`;
};

const created = (
  { name, environment, permissions, allowedCidrs, expiresAt, secret }: Of<'KeyCreated'>,
  domain: string,
): string =>
  `The key "${name}" was created for ${environment} mail of ${domain}, with the permissions ` +
  `${listed(permissions)}. Its secret number 1 ends in ${secret.last4}. ${networks(allowedCidrs)} ${expiry(expiresAt)}`;

const rotated = ({ secret, previousExpiresAt, revokesPrevious }: Of<'KeyRotated'>, number: number) =>
  `It was given its secret number ${number}, which ends in ${secret.last4}. ` +
  (revokesPrevious
    ? 'All earlier secrets ended at once.'
    : `The secret before it was to work until ${atTime(previousExpiresAt)}.`);

const updated = ({ name, permissions, rateLimits, allowedCidrs, expiresAt }: Of<'KeyUpdated'>): string =>
  [
    'It was changed.',
    name === undefined ? '' : `Its name is "${name}" from now on.`,
    permissions === undefined ? '' : `Its permissions are ${listed(permissions)}.`,
    rateLimits === undefined ? '' : limits(rateLimits),
    allowedCidrs === undefined ? '' : networks(allowedCidrs),
    expiresAt === undefined ? '' : expiry(expiresAt),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');

/** @param domain of the key, in words. @param secretNumber of the secret that the event made. */
export const keySentence = (event: KeyHistoryEvent, domain: string, secretNumber: number): string => {
  switch (event.type) {
    case 'KeyCreated':
      return created(event.data, domain);
    case 'KeyRotated':
      return rotated(event.data, secretNumber);
    case 'KeyUpdated':
      return updated(event.data);
    case 'KeyRevoked':
      return 'It was revoked: none of its secrets works any more.';
    case 'KeyExpired':
      return 'It expired: none of its secrets works any more.';
    case 'KeyDeleted':
      return 'It was deleted: none of its secrets works any more.';
    case 'DomainDeleted':
      return `Its domain ${domain} was deleted, and the key ended with it.`;
    case 'KeyChangeRefused':
      return `A request to ${event.data.change} it was refused, with the error ${event.data.code}.`;
    default:
      return event satisfies never;
  }
};
