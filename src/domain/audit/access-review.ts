import type { Role } from '../member/events.ts';
import { POWERS } from '../member/powers.ts';
import type { Leaf } from './leaf.ts';

/**
 * Access to an organization, folded from the leaves of its audit tree: so the review states what the proofs prove.
 */

/** Types of events that give, change or end access. */
export const ACCESS_TYPES = [
  'KeyCreated',
  'KeyUpdated',
  'KeyRevoked',
  'KeyExpired',
  'KeyDeleted',
  'DomainDeleted',
  'MemberInvited',
  'MemberRoleChanged',
  'MemberRemoved',
  'OperatorGranted',
  'OperatorWithdrawn',
  'AuditorAdded',
  'AuditorRemoved',
  'ContentsRolesSet',
] as const;
type AccessType = (typeof ACCESS_TYPES)[number];

/** The last event of its kind, by its id. */
interface Deed {
  readonly eventId: string;
  readonly at: string;
  readonly actor: string;
}

export interface Access {
  readonly kind: 'member' | 'api_key' | 'auditor';
  readonly id: string;
  /** Name of a key. Null: the name is not in the log. */
  readonly name: string | null;
  readonly role: Role | null;
  readonly permissions: readonly string[];
  /** Id of the domain to which a key is bound; null: the whole organization. */
  readonly domainId: string | null;
  readonly environment: string | null;
  readonly allowedCidrs: readonly string[];
  readonly expiresAt: string | null;
  /** An auditor also sees contents of mail; a member also sees the health of the service. */
  readonly isExtended: boolean;
  readonly granted: Deed;
  /** Change of role or permissions; null: none. */
  readonly changed: Deed | null;
  /** Null: access has not ended. */
  readonly ended: Deed | null;
}

export interface AccessReview {
  /** In the order in which they were granted. */
  readonly access: readonly Access[];
  /** Masked roles that may see contents of mail. */
  readonly contentsRoles: readonly string[];
}

type Data = Readonly<Record<string, unknown>>;

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const NONE = { name: null, role: null, domainId: null, environment: null, allowedCidrs: [], expiresAt: null } as const;

const grantOf = (type: AccessType, data: Data, granted: Deed): Access | null => {
  const started = { ...NONE, isExtended: false, granted, changed: null, ended: null };
  switch (type) {
    case 'KeyCreated':
      return {
        ...started,
        kind: 'api_key',
        id: String(data.keyId),
        name: textOf(data.name),
        permissions: textsOf(data.permissions),
        domainId: textOf(data.domainId),
        environment: textOf(data.environment),
        allowedCidrs: textsOf(data.allowedCidrs),
        expiresAt: textOf(data.expiresAt),
      };
    case 'MemberInvited': {
      const role = data.role as Role; // as the codec has checked
      return { ...started, kind: 'member', id: String(data.memberId), role, permissions: POWERS[role].permissions };
    }
    case 'AuditorAdded':
      return {
        ...started,
        kind: 'auditor',
        id: String(data.auditorId),
        permissions: ['audit'],
        allowedCidrs: textsOf(data.allowedCidrs),
        expiresAt: textOf(data.expiresAt),
        isExtended: data.contents === true,
      };
    default:
      return null;
  }
};

const keyChanges = ({ name, permissions, allowedCidrs, expiresAt }: Data): Partial<Access> => ({
  ...(name === undefined ? {} : { name: textOf(name) }),
  ...(permissions === undefined ? {} : { permissions: textsOf(permissions) }),
  ...(allowedCidrs === undefined ? {} : { allowedCidrs: textsOf(allowedCidrs) }),
  ...(expiresAt === undefined ? {} : { expiresAt: textOf(expiresAt) }),
});

const changeOf = (type: AccessType, data: Data): Partial<Access> | null => {
  switch (type) {
    case 'KeyUpdated':
      return keyChanges(data);
    case 'MemberRoleChanged': {
      const role = data.role as Role; // as the codec has checked
      return { role, permissions: POWERS[role].permissions };
    }
    case 'OperatorGranted':
      return { isExtended: true };
    case 'OperatorWithdrawn':
      return { isExtended: false };
    default:
      return null;
  }
};

const ENDS: readonly AccessType[] = ['KeyRevoked', 'KeyExpired', 'KeyDeleted', 'MemberRemoved', 'AuditorRemoved'];

const idIn = (data: Data): string => String(data.keyId ?? data.memberId ?? data.auditorId);

type Accesses = Map<string, Access>;

const endWithDomain = (all: Accesses, domainId: unknown, ended: Deed): void => {
  for (const [id, access] of all)
    if (access.domainId === domainId && access.ended === null) all.set(id, { ...access, ended });
};

interface Happening {
  readonly data: Data;
  readonly deed: Deed;
}

/** A key that expired and gets a later expiry works again; what was revoked is never changed again. */
const isRenewed = (type: AccessType, { expiresAt }: Data): boolean => type === 'KeyUpdated' && expiresAt !== undefined;

const changed = (known: Access, type: AccessType, { data, deed }: Happening): Access => {
  const changes = changeOf(type, data);
  if (changes !== null)
    return { ...known, ...changes, changed: deed, ended: isRenewed(type, data) ? null : known.ended };
  return ENDS.includes(type) ? { ...known, ended: known.ended ?? deed } : known;
};

const apply = (all: Accesses, type: AccessType, happening: Happening): void => {
  const { data, deed } = happening;
  if (type === 'DomainDeleted') endWithDomain(all, data.domainId, deed);
  const known = all.get(idIn(data));
  const next = grantOf(type, data, deed) ?? (known === undefined ? null : changed(known, type, happening));
  if (next !== null) all.set(next.id, next);
};

/** @param leaves oldest first; those of other types than `ACCESS_TYPES` change nothing. */
export const reviewAccess = (leaves: readonly Pick<Leaf, 'id' | 'type' | 'data' | 'metadata'>[]): AccessReview => {
  const all: Accesses = new Map();
  let contentsRoles: readonly string[] = [];
  for (const { type, data, id: eventId, metadata } of leaves) {
    if (type === 'ContentsRolesSet') contentsRoles = textsOf(data.roles);
    const deed = { eventId, at: metadata.occurredAt, actor: metadata.actor };
    apply(all, type as AccessType, { data, deed });
  }
  return { access: [...all.values()], contentsRoles };
};

/** When access ended by a time (ISO 8601), also by its own expiry; null: it has not. */
export const endOf = ({ ended, expiresAt }: Access, now: string): string | null => {
  const expired = expiresAt !== null && expiresAt <= now ? expiresAt : null;
  if (ended === null || expired === null) return ended?.at ?? expired;
  return ended.at < expired ? ended.at : expired;
};
