/** Describes the actor of an event in words. Names of members are stored only in the vault. */

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

/** Names of members by id. */
export type People = ReadonlyMap<string, string>;

/** The members among these actors. */
export const membersIn = (actors: readonly string[]): ReadonlySet<string> =>
  new Set(actors.map(actorOf).flatMap(({ type, id }) => (type === 'member' && id !== null ? [id] : [])));

/** `Ada Example (mbr_…)`. */
export const memberInWords = (id: string, people: People): string => {
  const name = people.get(id);
  return name === undefined ? `the member ${id}` : `${name} (${id})`;
};

/** The same in words. */
export const byWhom = (actor: string, people: People): string => {
  const { type, id } = actorOf(actor);
  if (type === 'key') return `API key ${id}`;
  if (type === 'member') return memberInWords(id ?? '', people);
  if (type === 'recipient') return 'the recipient';
  return type === 'operator' ? 'the operator of the service' : 'the service';
};
