import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../../kernel/events.ts';
import type { RateLimits } from '../../kernel/rate-limits.ts';
import { endOf, reviewAccess } from '../access-review.ts';
import { domainNames } from './access-rows.ts';
import { atTime, type Described, type Fact, type LeafEvent, listed, organizationFacts } from './words.ts';

/** Facts about an API key, and its events as sentences, derived from leaves. The service and the offline verifier share them. */

type KeyEvent = ApiKeyEvent | ApiKeyRefusalEvent | Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>;
type Of<Type> = Extract<KeyEvent, { readonly type: Type }>['data'];

const networks = (cidrs: readonly string[]): string =>
  cidrs.length === 0 ? 'It can be used from anywhere.' : `It can be used only from ${listed(cidrs)}.`;

const expiry = (at: string | null): string => (at === null ? 'It does not expire.' : `It expires at ${atTime(at)}.`);

const limits = (rateLimits: RateLimits): string => {
  const named = Object.entries(rateLimits).map(([kind, limit]) => `${kind} ${limit}`);
  return named.length === 0 ? 'It has the default rate limits.' : `Its own rate limits are ${listed(named)}.`;
};

const created = (
  { name, environment, permissions, allowedCidrs, expiresAt, secret }: Of<'KeyCreated'>,
  domain: string,
): string =>
  `The key "${name}" was created for ${environment} mail of ${domain}, with the ` +
  `${permissions.length === 1 ? 'permission' : 'permissions'} ${listed(permissions)}. Its secret number 1 ends in ${secret.last4}. ${networks(allowedCidrs)} ${expiry(expiresAt)}`;

/** Events that make a secret of a key. */
export const SECRET_TYPES: readonly string[] = ['KeyCreated', 'KeyRotated'];

/** A secret of a key, and when it ends at the latest; null: it is current. */
interface EarlierSecret {
  readonly number: number;
  readonly last4: string;
  readonly endsAt: string | null;
}

/** Secrets before the last one of these, as their rotations ended them. @param made oldest first. */
const earlierSecrets = (made: readonly LeafEvent[]): readonly EarlierSecret[] =>
  made.reduce<readonly EarlierSecret[]>((all, { type, data, metadata }, index) => {
    const ends = type === 'KeyRotated' ? (data as Of<'KeyRotated'>) : null;
    const endOf = ({ endsAt }: EarlierSecret): string | null => {
      if (ends?.revokesPrevious !== true) return endsAt ?? ends?.previousExpiresAt ?? null;
      return endsAt !== null && endsAt < metadata.occurredAt ? endsAt : metadata.occurredAt;
    };
    const before = all.map((one) => ({ ...one, endsAt: endOf(one) }));
    const { secret } = data as Of<'KeyRotated'>; // both types have it
    return [...before, { number: index + 1, last4: secret.last4, endsAt: null }];
  }, []);

/** Earlier secrets that work at a time (ISO 8601). @param made events that made the secrets by then, oldest first. */
const secretsWorkingAt = (made: readonly LeafEvent[], time: string): readonly EarlierSecret[] =>
  earlierSecrets(made).filter(({ endsAt }) => endsAt !== null && endsAt > time);

const secretsInWords = (secrets: readonly EarlierSecret[]): string =>
  listed(
    secrets.map(
      ({ number, last4, endsAt }) => `number ${number}, which ends in ${last4}, until ${atTime(endsAt ?? '')}`,
    ),
  );

/** @param still earlier secrets that worked after the rotation. */
const rotated = ({ secret, revokesPrevious }: Of<'KeyRotated'>, number: number, still: readonly EarlierSecret[]) => {
  const opening = `It was rotated to secret number ${number}, which ends in ${secret.last4}.`;
  if (revokesPrevious) return `${opening} All earlier secrets ended at once.`;
  if (still.length === 0) return `${opening} No earlier secret worked any longer.`;
  const earlier = still.map(
    (one) => `Secret ${one.number} (…${one.last4}) is valid until ${atTime(one.endsAt ?? '')} at the latest.`,
  );
  return [opening, ...earlier].join(' ');
};

const updated = ({ name, permissions, rateLimits, allowedCidrs, expiresAt }: Of<'KeyUpdated'>): string =>
  [
    'It was changed.',
    name === undefined ? '' : `Its new name is "${name}".`,
    permissions === undefined ? '' : `Its permissions are ${listed(permissions)}.`,
    rateLimits === undefined ? '' : limits(rateLimits),
    allowedCidrs === undefined ? '' : networks(allowedCidrs),
    expiresAt === undefined ? '' : expiry(expiresAt),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');

/** @param domain of the key, in words. @param made events that made its secrets, up to this one, oldest first. */
const keySentence = (event: KeyEvent, time: string, domain: string, made: readonly LeafEvent[]): string => {
  switch (event.type) {
    case 'KeyCreated':
      return created(event.data, domain);
    case 'KeyRotated':
      return rotated(event.data, made.length, secretsWorkingAt(made, time));
    case 'KeyUpdated':
      return updated(event.data);
    case 'KeyRevoked':
      return 'It was revoked: none of its secrets works any longer.';
    case 'KeyExpired':
      return 'It expired: none of its secrets works any longer.';
    case 'KeyDeleted':
      return 'It was deleted: none of its secrets works any longer.';
    case 'DomainDeleted':
      return `Its domain ${domain} was deleted, and the key ended with it.`;
    case 'KeyChangeRefused':
      return `A request to ${event.data.change} it was refused with the error ${event.data.code}.`;
    default:
      return event satisfies never;
  }
};

/** `mail.example.com (dom_…)`. */
const domainInWords = (domainId: string, leaves: readonly LeafEvent[]): string => {
  const name = domainNames(leaves).get(domainId);
  return name === undefined ? domainId : `${name} (${domainId})`;
};

/** @param made events that made its secrets, oldest first. @param now ISO 8601. */
const keyFacts = (
  leaves: readonly LeafEvent[],
  { keyId, made, now }: { readonly keyId: string; readonly made: readonly LeafEvent[]; readonly now: string },
): readonly Fact[] => {
  const key = reviewAccess(leaves).access.find(({ id }) => id === keyId);
  if (key === undefined) return [];
  const end = endOf(key, now);
  const working = end === null ? secretsWorkingAt(made, now) : [];
  return [
    { name: 'Name', value: key.name ?? '' },
    { name: 'State', value: end === null ? 'active' : `ended at ${atTime(end)}` },
    { name: 'Sends', value: `${key.environment} mail of ${domainInWords(key.domainId ?? '', leaves)}` },
    { name: 'Permissions', value: listed(key.permissions) },
    { name: 'Secrets so far', value: String(made.length) },
    { name: 'Earlier secrets that still work', value: working.length === 0 ? 'none' : secretsInWords(working) },
  ];
};

/**
 * @param leaves oldest first: all about the key, the registration of its domain, and those that name its organization.
 * @param now ISO 8601.
 */
export const describeKey = (leaves: readonly LeafEvent[], keyId: string, now: string): Described => {
  const made = leaves.filter(({ type, data }) => SECRET_TYPES.includes(type) && data.keyId === keyId);
  const domain = domainInWords(String(made[0]?.data.domainId), leaves);
  return {
    title: `What happened to API key ${keyId}`,
    facts: [...organizationFacts(leaves), { name: 'Key', value: keyId }, ...keyFacts(leaves, { keyId, made, now })],
    sentenceOf: (event) => {
      const upTo = made.slice(0, made.findIndex(({ id }) => id === event.id) + 1);
      // The codec has checked the data of each type.
      return keySentence(event as LeafEvent & KeyEvent, event.metadata.occurredAt, domain, upTo);
    },
  };
};
