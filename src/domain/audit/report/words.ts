import type { EventContext } from '../../kernel/event-store.ts';

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
export const memberInWords = (id: string, names: Names): string => {
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
