import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { loadAuditor, namesOfAuditors } from '../../../commands/auditor.ts';
import { contactsOfMembers } from '../../../commands/member.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import type { Leaf } from '../../../domain/audit/leaf.ts';
import { type AddressRange, isWithin, parseRange } from '../../../domain/kernel/addresses.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import type { LeafCondition, SearchLeaves } from '../../../projections/audit/tiles.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { line } from '../../fields.ts';
import { readRecent } from '../../reading.ts';
import { readRequestFacts } from '../api-keys/key-events.ts';
import {
  AUDIT_KINDS,
  actionOf,
  actionWords,
  type auditSubjectSchema,
  typesOfKind,
  typesWithWord,
  unknownType,
} from './actions.ts';
import type { AuditEntry } from './checkpoints.ts';

/**
 * Finds entries of the audit log by words, persons, names of keys and client addresses, and names what they are about.
 * Words and names become facets, which an index finds. Addresses are not in the log: those of a bundle are read together.
 */

const WORDS_MAX = 6;
const WORDS_CHARACTERS_MAX = 200;
const NAME_CHARACTERS_MAX = 320;
const TYPES_MAX = 50;

/** Kinds of client addresses. */
const ADDRESS_CLASSES = ['public', 'private', 'loopback'] as const;
type AddressClass = (typeof ADDRESS_CLASSES)[number];

const isClass = (text: string): text is AddressClass => ADDRESS_CLASSES.some((one) => one === text);

const wordsIn = (text: string): readonly string[] => [...new Set(text.toLowerCase().split(/\s+/))].filter(Boolean);

const typesIn = (text: string): readonly string[] => text.split(',').map((type) => type.trim());

export const auditWordFilters = () => ({
  q: line(WORDS_CHARACTERS_MAX)
    .refine((text) => wordsIn(text).length > 0, 'must contain a word')
    .refine((text) => wordsIn(text).length <= WORDS_MAX, `must have at most ${WORDS_MAX} words`)
    .optional()
    .describe(
      'Only events with all of these words in what was done (`invited`, `passkey`, `rotated`), or in the name of the member, auditor or key that did it or that it is about.',
    ),
  person: line(NAME_CHARACTERS_MAX)
    .optional()
    .describe(
      'Only events caused by or about a member or an auditor: a part of their name or email address, or their id.',
    ),
  key: line(NAME_CHARACTERS_MAX)
    .optional()
    .describe('Only events caused by or about an API key: a part of its name, or its id.'),
  type: line(WORDS_CHARACTERS_MAX * TYPES_MAX)
    .refine((text) => typesIn(text).length <= TYPES_MAX, `must have at most ${TYPES_MAX} types`)
    .refine((text) => unknownType(typesIn(text)) === null, {
      error: ({ input }) => unknownType(typesIn(String(input))) ?? undefined,
    })
    .optional()
    .describe('Only events of these types, separated by commas, such as `KeyRotated,KeyRevoked`.'),
  kind: z
    .enum(AUDIT_KINDS)
    .optional()
    .describe(
      '`changes` to settings and resources; `reads`: who read or exported what; `sign_ins`; `mail`: what happened to messages; `automatic`: actions of the service.',
    ),
  workers: z
    .enum(['include', 'exclude'])
    .default('include')
    .describe('`exclude`: leave out events caused by background workers.'),
  address: line(NAME_CHARACTERS_MAX)
    .refine(
      (text) => isClass(text) || parseRange(text) !== null,
      `must be an IP address, a network such as 192.0.2.0/24, or ${ADDRESS_CLASSES.map((one) => `"${one}"`).join(', ')}`,
    )
    .optional()
    .describe(
      'Only requests from this client address, network (`192.0.2.0/24`), or kind of address: `public`, `private` or `loopback`. Addresses are kept for a year.',
    ),
});

const filters = z.strictObject(auditWordFilters());
type Filters = z.output<typeof filters>;

const typeFacet = (type: string): string => `type:${type}`;

const isOneOf = (facets: ReadonlySet<string>, own: readonly string[]): boolean =>
  own.some((facet) => facets.has(facet));

/** Only these have the id of a member. Facets do not name members that an event is about. */
const ABOUT_MEMBERS = [
  ...['MemberInvited', 'MemberJoined', 'MemberRoleChanged', 'MemberRemoved', 'OperatorGranted', 'OperatorWithdrawn'],
  ...['PasskeyAdded', 'PasskeyCounted', 'PasskeyRemoved', 'SignInLinkCreated', 'SessionStarted', 'PresenceProven'],
].map(typeFacet);

/** People and keys that a text names. */
interface NamedActors {
  readonly members: readonly string[];
  readonly auditors: readonly string[];
  readonly keys: readonly string[];
}

/** Only these have the id of an auditor. */
const ABOUT_AUDITORS = ['AuditorAdded', 'AuditorRemoved'];

const namedCondition = ({ members, auditors, keys }: NamedActors): LeafCondition => {
  const facets = [
    ...members.map((id) => `actor:member:${id}`),
    ...auditors.map((id) => `actor:auditor:${id}`),
    ...keys.map((id) => `key:${id}`),
  ];
  const own = new Set(facets);
  const people = new Set<unknown>([...members, ...auditors]);
  return {
    facets: [
      ...facets,
      ...(members.length === 0 ? [] : ABOUT_MEMBERS),
      ...(auditors.length === 0 ? [] : ABOUT_AUDITORS.map(typeFacet)),
    ],
    is: ({ data }, given) => isOneOf(own, given) || people.has(data.memberId) || people.has(data.auditorId),
  };
};

const typeCondition = (types: readonly string[]): LeafCondition => {
  const facets = types.map(typeFacet);
  return { facets, is: ({ type }) => types.includes(type) };
};

const wordCondition = (word: string, named: NamedActors): LeafCondition => {
  const byName = namedCondition(named);
  return {
    facets: [...typesWithWord(word).map(typeFacet), ...byName.facets],
    is: (leaf, facets) => actionWords(leaf).some((one) => one.startsWith(word)) || byName.is(leaf, facets),
  };
};

/** The read models that have the names of resources. */
const NAMES_FROM = {
  api_key: 'api-keys',
  domain: 'domains',
  template: 'templates',
  webhook: 'webhooks',
  topic: 'topics',
} as const satisfies Readonly<Record<string, ProjectionName>>;

type NamedKind = keyof typeof NAMES_FROM;
const NAMED_RESOURCES = Object.keys(NAMES_FROM) as NamedKind[]; // the keys of this constant

/** Waits until the names of resources are up to date. The audit log can be read without them. */
const waitForNames = async (deps: HttpDependencies, kinds: readonly NamedKind[]): Promise<void> => {
  const models = kinds.map((kind) => NAMES_FROM[kind]);
  if (models.length > 0) await readRecent(deps, models);
};

/**
 * Newest auditors whose names are compared, removed ones included. Higher: a search reads more of the vault. Lower: it
 * misses older ones.
 */
const AUDITORS_COMPARED_MAX = 5_000;
/** Auditors read at once. Higher: more personal data in memory. Lower: more reads of the log and the vault. */
const AUDITORS_PAGE = 500;

/** Names of the auditors of an organization, removed ones included: their entries stay in the log. */
const namesOfAllAuditors = async (
  { context, readModels }: HttpDependencies,
  organizationId: string,
): ReturnType<typeof namesOfAuditors> => {
  const all: Awaited<ReturnType<typeof namesOfAuditors>>[number][] = [];
  const by = {
    tree: organizationId,
    facets: [typeFacet('AuditorAdded')],
    order: 'desc',
    limit: AUDITORS_PAGE,
  } as const;
  let compared = 0;
  let after: number | null = null;
  do {
    const page: Awaited<ReturnType<typeof readModels.audit.search>> = await readModels.audit.search({ ...by, after });
    const added = page.leaves.map(({ parsed }) => parsed.data);
    all.push(...(await namesOfAuditors(context, added)));
    compared += added.length;
    after = page.next;
  } while (after !== null && compared < AUDITORS_COMPARED_MAX);
  return all;
};

/** Finds members, auditors and keys by parts of their names. Members and auditors are read once. */
const openNames = (deps: HttpDependencies, organizationId: string) => {
  const { context, readModels } = deps;
  let contacts: ReturnType<typeof contactsOfMembers> | undefined;
  let auditorNames: ReturnType<typeof namesOfAllAuditors> | undefined;
  const members = async (text: string): Promise<readonly string[]> => {
    if (isId('mbr', text)) return [text];
    contacts ??= contactsOfMembers(context, organizationId, null);
    const wanted = text.toLowerCase();
    return (await contacts)
      .filter(({ name, email }) => `${name}\n${email ?? ''}`.toLowerCase().includes(wanted))
      .map(({ id }) => id);
  };
  const auditors = async (text: string): Promise<readonly string[]> => {
    if (isId('aud', text)) return [text];
    auditorNames ??= namesOfAllAuditors(deps, organizationId);
    const wanted = text.toLowerCase();
    return (await auditorNames).filter(({ names }) => names.includes(wanted)).map(({ id }) => id);
  };
  const keys = async (text: string): Promise<readonly string[]> => {
    if (isId('key', text)) return [text];
    await waitForNames(deps, ['api_key']);
    return readModels.search.keysNamed({ organizationId, text });
  };
  const people = async (text: string): Promise<NamedActors> => ({
    members: await members(text),
    auditors: await auditors(text),
    keys: [],
  });
  return { keys, people };
};

const conditionsOf = async (
  deps: HttpDependencies,
  { organizationId }: Caller,
  { q = '', person, key, type, kind }: Filters,
): Promise<readonly LeafCondition[]> => {
  const names = openNames(deps, organizationId);
  const word = async (text: string): Promise<LeafCondition> =>
    wordCondition(text, { ...(await names.people(text)), keys: await names.keys(text) });
  return Promise.all([
    ...wordsIn(q).map(word),
    ...(person === undefined ? [] : [names.people(person).then(namedCondition)]),
    ...(key === undefined ? [] : [names.keys(key).then((keys) => namedCondition({ members: [], auditors: [], keys }))]),
    ...(type === undefined ? [] : [typeCondition(typesIn(type))]),
    ...(kind === undefined ? [] : [typeCondition(typesOfKind(kind))]),
  ]);
};

/** IANA special-purpose ranges that are no part of the internet; `ipaddr.js` has a name for each. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat']);

const classOf = (address: string): AddressClass | null => {
  if (!ipaddr.isValid(address)) return null;
  const range = ipaddr.process(address).range();
  if (range === 'loopback') return 'loopback';
  return PRIVATE.has(range) ? 'private' : 'public';
};

const isFrom = (wanted: string, address: string | null): boolean => {
  if (address === null) return false;
  if (isClass(wanted)) return classOf(address) === wanted;
  return isWithin([parseRange(wanted) as AddressRange], address); // the schema checked it
};

const addressFilter = (deps: HttpDependencies, caller: Caller, wanted: string | undefined): SearchLeaves['keep'] =>
  wanted === undefined
    ? undefined
    : async (entries) => {
        const requested = entries.filter(({ parsed }) => parsed.metadata.originId !== undefined);
        const contexts = requested.map(({ parsed }) => parsed.metadata);
        const facts = await readRequestFacts(deps, caller, contexts);
        return requested.filter(({ parsed }) => isFrom(wanted, facts.address(parsed.metadata)));
      };

/** The part of a search that these filters add. */
export const searchByWords = async (deps: HttpDependencies, caller: Caller, by: Filters) => ({
  conditions: await conditionsOf(deps, caller, by),
  byWorkers: by.workers === 'include',
  keep: addressFilter(deps, caller, by.address),
});

/** Names what entries are about. */

const SUBJECTS = [
  ['messageId', 'message'],
  ['memberId', 'member'],
  ['keyId', 'api_key'],
  ['templateId', 'template'],
  ['routeId', 'inbound_route'],
  ['webhookId', 'webhook'],
  ['topicId', 'topic'],
  ['suppressionId', 'suppression'],
  ['erasureId', 'erasure'],
  ['auditorId', 'auditor'],
  ['domainId', 'domain'],
] as const;

interface Subject {
  readonly type: z.infer<typeof auditSubjectSchema>['type'];
  readonly id: string;
}

/** The subject of an event; null: the organization. */
const subjectOf = ({ data }: Leaf): Subject | null => {
  const [field, type] = SUBJECTS.find(([name]) => typeof data[name] === 'string') ?? [];
  if (field !== undefined && type !== undefined) return { type, id: String(data[field]) };
  return typeof data.subjectId === 'string' && isId('msg', data.subjectId)
    ? { type: 'message', id: data.subjectId }
    : null;
};

const actorIdOf = ({ metadata }: Leaf, type: string): string | undefined =>
  metadata.actor.startsWith(`${type}:`) ? metadata.actor.slice(type.length + 1) : undefined;

/** Streams read at once. More takes connections from other requests, fewer makes a page of many auditors slower. */
const CONCURRENCY = 4;

/** Names of auditors. Those of removed ones may be gone. */
const auditorNames = (
  { context }: HttpDependencies,
  organizationId: string,
  ids: ReadonlySet<string>,
): Promise<readonly (readonly [id: string, name: string | null])[]> =>
  mapConcurrently([...ids], { system: context.system, concurrency: CONCURRENCY }, async (id) => {
    const found = await loadAuditor(context, organizationId, id).catch((error: unknown) => {
      if (error instanceof DomainError) return null;
      throw error;
    });
    return [id, found?.auditor.name ?? null];
  });

export interface EntryNames {
  readonly action: string;
  readonly actorName: string | null;
  readonly subject: AuditEntry['subject'];
}

/** Reads the names for a page of entries. */
export const readNames = async (
  deps: HttpDependencies,
  { organizationId }: Caller,
  leaves: readonly Leaf[],
): Promise<(leaf: Leaf) => EntryNames> => {
  const { context, readModels } = deps;
  const subjects = leaves.map(subjectOf).filter((subject) => subject !== null);
  const idsOf = (type: Subject['type']): readonly string[] =>
    subjects.filter((subject) => subject.type === type).map(({ id }) => id);
  const actorsOf = (type: string): readonly string[] =>
    leaves.map((leaf) => actorIdOf(leaf, type)).filter((id) => id !== undefined);
  const members = new Set([...idsOf('member'), ...actorsOf('member')]);
  const kinds = NAMED_RESOURCES.map((kind) => ({
    kind,
    ids: new Set([...idsOf(kind), ...(kind === 'api_key' ? actorsOf('key') : [])]),
  })).filter(({ ids }) => ids.size > 0);
  await waitForNames(
    deps,
    kinds.map(({ kind }) => kind),
  );
  const resources = kinds.map(({ kind, ids }) => readModels.search.namesOf({ organizationId, kind, ids: [...ids] }));
  const auditors = new Set([...idsOf('auditor'), ...actorsOf('auditor')]);
  const [contacts, named, ...rows] = await Promise.all([
    contactsOfMembers(context, organizationId, members),
    auditorNames(deps, organizationId, auditors),
    ...resources,
  ]);
  const names = new Map<string, string | null>([
    ...contacts.map(({ id, name, email }): [string, string | null] => [id, name === '' ? email : name]),
    ...named,
    ...rows.flat().map(({ id, name }): [string, string | null] => [id, name]),
  ]);
  const nameOf = (id: string | undefined): string | null => names.get(id ?? '') ?? null;
  return (leaf) => {
    const subject = subjectOf(leaf);
    return {
      action: actionOf(leaf),
      actorName: nameOf(actorIdOf(leaf, 'member') ?? actorIdOf(leaf, 'key') ?? actorIdOf(leaf, 'auditor')),
      subject: subject === null ? null : { ...subject, name: nameOf(subject.id) },
    };
  };
};
