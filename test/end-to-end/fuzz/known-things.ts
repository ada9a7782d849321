import type { Random } from './random.ts';

const KEPT_MAX = 200;
const ID = /^([a-z]{3})_[a-z2-7]{26}$/;
const UUID = /^[0-9a-f-]{36}$/;
/** Operations accept an event's `evt_…` id or its UUID. */
const prefixOf = (id: string): string => (UUID.test(id) ? 'evt' : id.slice(0, 3));

/** Ids and cursors from responses, for use in later requests. */
export interface KnownThings {
  /** Stores the ids in a response. @param ours this run created the resource and may delete it. */
  learn(body: unknown, ours: boolean): void;
  /** @param ending the request may change or delete the resource. */
  id(random: Random, prefix: string, ending: boolean): string | undefined;
  cursor(random: Random): string | undefined;
}

/** Every text in a body, with the name of its field. */
const textsIn = (body: unknown): readonly (readonly [name: string, text: string])[] =>
  Object.entries(Object(body)).flatMap(([name, value]) => {
    if (typeof value === 'string') return [[name, value] as const];
    return typeof value === 'object' ? textsIn(value) : [];
  });

/** @param foreign ids of another organization, which are picked occasionally. */
export const createKnownThings = (own: readonly string[], foreign: readonly string[]): KnownThings => {
  const seen = new Map<string, string[]>();
  const made = new Map<string, string[]>();
  const cursors: string[] = [];

  const keep = (list: string[], value: string): void => {
    if (list.includes(value)) return;
    list.push(value);
    if (list.length > KEPT_MAX) list.shift();
  };

  const keepId = (lists: Map<string, string[]>, id: string): void => {
    const prefix = prefixOf(id);
    const list = lists.get(prefix) ?? [];
    keep(list, id);
    lists.set(prefix, list);
  };

  for (const id of [...own, ...foreign]) keepId(seen, id);
  for (const id of foreign) keepId(made, id);

  const learnId = (id: string, ours: boolean): void => {
    keepId(seen, id);
    if (ours && !own.includes(id)) keepId(made, id);
  };

  const learn = (body: unknown, ours: boolean): void => {
    const texts = textsIn(body);
    for (const [, cursor] of texts.filter(([name]) => name === 'next_cursor')) keep(cursors, cursor);
    for (const [, id] of texts.filter(([name, text]) => name === 'id' && ID.test(text))) learnId(id, ours);
    for (const [, id] of texts.filter(([name]) => name === 'event_id')) learnId(id, false);
  };

  return {
    learn,
    id: (random, prefix, ending) => {
      const list = (ending ? made : seen).get(prefix) ?? [];
      return list.length === 0 ? undefined : random.pick(list);
    },
    cursor: (random) => (cursors.length === 0 ? undefined : random.pick(cursors)),
  };
};
