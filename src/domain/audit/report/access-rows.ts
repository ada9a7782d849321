import { ACCESS_TYPES, type Access, endOf, reviewAccess } from '../access-review.ts';
import type { Leaf } from '../leaf.ts';
import {
  actorOf,
  actorSentence,
  atTime,
  byWhom,
  type Fact,
  listed,
  NAMING_TYPES,
  type Names,
  organizationFacts,
} from './words.ts';

/**
 * Rows and sentences of an access review, derived from leaves. The service writes a review with it, and the offline verifier derives the
 * review again and compares.
 */

/** Types of leaves that a review derives from: access, names of the organization and of domains, and the secrets that authenticated. */
export const REVIEWED_TYPES: readonly string[] = [...ACCESS_TYPES, ...NAMING_TYPES, 'DomainRegistered', 'KeyRotated'];

/** Descriptions of events that change access, by type. They follow the name of the actor. */
export const ACCESS_ACTIONS = {
  KeyCreated: 'created an API key',
  KeyUpdated: 'changed an API key',
  KeyRevoked: 'revoked an API key',
  KeyExpired: 'noted that an API key expired',
  KeyDeleted: 'deleted an API key',
  DomainDeleted: 'deleted a domain',
  MemberInvited: 'invited a member',
  MemberRoleChanged: 'changed the role of a member',
  MemberRemoved: 'removed a member',
  OperatorGranted: 'made a member an operator',
  OperatorWithdrawn: 'withdrew the operator rights of a member',
  AuditorAdded: 'added an auditor',
  AuditorRemoved: 'removed an auditor',
  ContentsRolesSet: 'changed which roles see mail contents',
} satisfies Record<(typeof ACCESS_TYPES)[number], string>;

/** One member, key or auditor, with the field names of reports. */
export interface AccessRow {
  readonly kind: Access['kind'];
  readonly id: string;
  readonly name: string | null;
  readonly role: string | null;
  readonly permissions: string[];
  readonly scope: string;
  readonly state: 'active' | 'ended';
  readonly granted_at: string;
  readonly granted_by: string;
  readonly changed_at: string | null;
  readonly changed_by: string | null;
  readonly expires_at: string | null;
  readonly ended_at: string | null;
  readonly ended_by: string | null;
}

/** Keys that manage act on the whole organization, and send from their own domain. */
const reachOf = ({ kind, domainId, permissions }: Access, names: Names): string => {
  if (kind === 'auditor') return 'the audit log';
  if (domainId === null) return 'the whole organization';
  const isWide = permissions.some((permission) => permission === 'admin' || permission === 'manage');
  const name = names.get(domainId);
  const domain = name === undefined ? domainId : `${name} (${domainId})`;
  return isWide ? `the whole organization, sending from ${domain}` : domain;
};

const scopeOf = (access: Access, names: Names): string => {
  const { kind, environment, allowedCidrs, isExtended } = access;
  const extended = { member: 'also the health of the service', api_key: '', auditor: 'also contents of mail' }[kind];
  const scope = [
    reachOf(access, names),
    ...(environment === null ? [] : [`${environment} mail`]),
    ...(allowedCidrs.length === 0 ? [] : [`only from ${listed(allowedCidrs)}`]),
    ...(isExtended ? [extended] : []),
  ];
  return scope.join(', ');
};

const actorInWords = (actor: string, names: Names): string => {
  const { type, id } = actorOf(actor);
  const name = type === 'key' ? names.get(id ?? '') : undefined;
  return name === undefined ? byWhom(actor, names) : `API key "${name}" (${id})`;
};

const rowOf = (access: Access, now: string, names: Names): AccessRow => {
  const { granted, changed, ended } = access;
  const endedAt = endOf(access, now);
  return {
    kind: access.kind,
    id: access.id,
    name: access.name ?? names.get(access.id) ?? null,
    role: access.role,
    permissions: [...access.permissions],
    scope: scopeOf(access, names),
    state: endedAt === null ? 'active' : 'ended',
    granted_at: granted.at,
    granted_by: actorInWords(granted.actor, names),
    changed_at: changed?.at ?? null,
    changed_by: changed === null ? null : actorInWords(changed.actor, names),
    expires_at: access.expiresAt,
    ended_at: endedAt,
    // An expiry has no actor.
    ended_by: ended === null || ended.at !== endedAt ? null : actorInWords(ended.actor, names),
  };
};

const activeFirst = (one: AccessRow, other: AccessRow): number =>
  Number(one.state === 'ended') - Number(other.state === 'ended');

/** Last characters of the secrets of each key, the first one first. */
export const secretEnds = (leaves: readonly Pick<Leaf, 'type' | 'data'>[]): ReadonlyMap<string, readonly string[]> => {
  const ends = new Map<string, string[]>();
  for (const { type, data } of leaves) {
    if (type !== 'KeyCreated' && type !== 'KeyRotated') continue;
    const { last4 } = data.secret as { readonly last4: string }; // as the codec has checked
    const keyId = String(data.keyId);
    ends.set(keyId, [...(ends.get(keyId) ?? []), last4]);
  }
  return ends;
};

/** @returns who acted, in words, with the secret that authenticated. */
export const authorOf = (
  { metadata }: Pick<Leaf, 'metadata'>,
  ends: ReadonlyMap<string, readonly string[]>,
  names: Names,
): string => {
  const { id } = actorOf(metadata.actor);
  const last4 = ends.get(id ?? '')?.[(metadata.secret ?? 0) - 1] ?? null;
  return actorSentence(metadata, { last4, names });
};

/** Names of sending domains that leaves state, by id. */
export const domainNames = (leaves: readonly Pick<Leaf, 'type' | 'data'>[]): Names =>
  new Map(
    leaves.flatMap(({ type, data }) =>
      type === 'DomainRegistered' ? [[String(data.domainId), String(data.name)] as const] : [],
    ),
  );

const subjectIn = ({ memberId, keyId, auditorId, domainId }: Leaf['data']): string | null => {
  const id = memberId ?? keyId ?? auditorId ?? domainId;
  return typeof id === 'string' ? id : null;
};

const sentenceOf = ({ type, data }: Leaf, names: Names): string => {
  const subject = subjectIn(data);
  const name = names.get(subject ?? '');
  const about = subject === null ? '' : `: ${name === undefined ? subject : `${name} (${subject})`}`;
  const { last4 } = (data.secret ?? {}) as { readonly last4?: string }; // as the codec has checked
  const secret = last4 === undefined ? '' : `, with a secret that ends in ${last4}`;
  return `${ACCESS_ACTIONS[type as keyof typeof ACCESS_ACTIONS]}${about}${secret}.`;
};

export interface DerivedReview {
  /** The active ones first. */
  readonly rows: readonly AccessRow[];
  readonly title: string;
  /** Facts that follow from the leaves. */
  readonly facts: readonly Fact[];
  /** Ids of events that rows and facts state. */
  readonly stated: ReadonlySet<string>;
  describe(leaf: Leaf): { readonly sentence: string; readonly by: string };
}

/**
 * @param leaves of `REVIEWED_TYPES`, oldest first.
 * @param now ISO 8601; what expired by then has ended.
 * @param people names of members and auditors, which leaves do not state.
 */
export const deriveReview = (
  leaves: readonly Leaf[],
  { now, people }: { readonly now: string; readonly people: Names },
): DerivedReview => {
  const { access, contentsRoles } = reviewAccess(leaves);
  const keys = access.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const]));
  const names = new Map([...people, ...domainNames(leaves), ...keys]);
  const rows = access.map((one) => rowOf(one, now, names)).toSorted(activeFirst);
  const active = rows.filter(({ state }) => state === 'active');
  const ends = secretEnds(leaves);
  const deeds = access.flatMap(({ granted, changed, ended }) => [granted, changed, ended]);
  return {
    rows,
    title: 'Who has access',
    facts: [
      ...organizationFacts(leaves),
      { name: 'With access', value: `${active.length} now, ${rows.length} in all, including those that ended` },
      { name: 'Roles that see mail contents', value: listed([...new Set(['owner', 'developer', ...contentsRoles])]) },
    ],
    stated: new Set([
      ...deeds.flatMap((deed) => deed?.eventId ?? []),
      ...leaves.flatMap(({ id, type }) => (type === 'ContentsRolesSet' ? [id] : [])),
    ]),
    describe: (leaf) => ({ sentence: sentenceOf(leaf, names), by: authorOf(leaf, ends, names) }),
  };
};

/** Access of one member, key or auditor in a sentence. */
export const accessSentence = (row: AccessRow): string => {
  const { kind, id, name, role, permissions, scope } = row;
  const who = `${kind.replace('_', ' ')} ${name === null ? id : `${name} (${id})`}`;
  const changed =
    row.changed_at === null ? '' : ` Last changed at ${atTime(row.changed_at)} by ${row.changed_by ?? ''}.`;
  const expiry = row.expires_at === null || row.ended_at !== null ? '' : ` It expires at ${atTime(row.expires_at)}.`;
  const by = row.ended_by === null ? '' : ` by ${row.ended_by}`;
  const ended = row.ended_at === null ? '' : ` Ended at ${atTime(row.ended_at)}${by}.`;
  return (
    `${who}: ${role ?? permissions.join(', ')}, for ${scope}. Granted at ${atTime(row.granted_at)} by ${row.granted_by}.` +
    `${changed}${expiry}${ended}`
  );
};
