import type { EventContext } from '../../kernel/event-store.ts';
import type { Leaf } from '../leaf.ts';

/** Words for actors and times in reports and explanations. The service and the offline verifier share them. */

/** `key`, `member`, `recipient`, `worker`, `operator` or `service`, and which. */
export interface Actor {
  readonly type: string;
  readonly id: string | null;
}

/** @param actor as events name it: `key:<id>`, `member:<id>`, `worker:<job>`, `recipient:<id>`, `operator`, `service`. */
export const actorOf = (actor: string): Actor => {
  const [type = '', id = null] = actor.split(':', 2);
  return { type, id };
};

/** Names by id. */
export type Names = ReadonlyMap<string, string>;

/** The members among these actors. */
export const membersIn = (actors: readonly string[]): ReadonlySet<string> =>
  new Set(actors.map(actorOf).flatMap(({ type, id }) => (type === 'member' && id !== null ? [id] : [])));

/** `Ada Example (mbr_…)`. */
const memberInWords = (id: string, names: Names): string => {
  const name = names.get(id);
  return name === undefined ? `the member ${id}` : `${name} (${id})`;
};

/** The actor in words. Names of members are stored only in the vault. */
export const byWhom = (actor: string, names: Names): string => {
  const { type, id } = actorOf(actor);
  if (type === 'key') return `API key ${id}`;
  if (type === 'member') return memberInWords(id ?? '', names);
  if (type === 'recipient') return 'the recipient';
  return type === 'operator' ? 'the operator of the service' : 'the service';
};

/** @param last4 of the secret that authenticated; null: none did, or it is not known. */
export const actorSentence = (
  { actor, secret, operator }: Pick<EventContext, 'actor' | 'secret' | 'operator'>,
  { last4, names }: { readonly last4: string | null; readonly names: Names },
): string => {
  const who = byWhom(actor, names);
  if (operator !== undefined) return `${who} (${operator.user} at ${operator.host})`;
  if (secret === undefined) return who;
  return `${who}, with its secret number ${secret}${last4 === null ? '' : `, which ends in ${last4}`}`;
};

/** @param iso ISO 8601 in UTC, as the log has it. */
export const atTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** More names would hide what the sentence says. */
const NAMED_MAX = 3;

/** `a, b and 4 others`. */
export const inWords = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? listed(names)
    : listed([...names.slice(0, NAMED_MAX - 1), `${names.length - NAMED_MAX + 1} others`]);

/** Longer replies are cut: they would hide the sentence. */
const QUOTED_MAX = 200;

export const quoted = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `"${line.length > QUOTED_MAX ? `${line.slice(0, QUOTED_MAX)}…` : line}"`;
};

/** An event as its leaf has it. */
export type LeafEvent = Pick<Leaf, 'id' | 'type' | 'data' | 'metadata'>;

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** The statements of a report about its subject, derived from leaves. */
export interface Described {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** @param event of the subject. */
  sentenceOf(event: LeafEvent): string;
}

/** Types of events that can name an organization. */
export const NAMING_TYPES: readonly string[] = ['OrganizationCreated', 'OrganizationUpdated'];

/** True if the event names its organization. */
export const isNaming = ({ type, data }: Pick<Leaf, 'type' | 'data'>): boolean =>
  NAMING_TYPES.includes(type) && data.name !== undefined;

/** The organization with its last name. @param leaves oldest first, with those that name it. */
export const organizationFacts = (leaves: readonly LeafEvent[]): readonly Fact[] => {
  const naming = leaves.filter(isNaming).at(-1);
  if (naming === undefined) return [];
  return [{ name: 'Organization', value: `${naming.data.name} (${naming.metadata.organizationId})` }];
};
