import { canonicalJson, HASH_BYTES, leafHash, rootOfParts } from '../../../lib/transparency/transparency.ts';

/**
 * Parses disclosures (docs/audit.md): every disclosed part is hashed again, and the root is computed from all hashes.
 * For a removed part only its hash is bound to the event; everything else that the disclosure says about it is
 * unproved.
 */

/** The text is not a disclosure. The message says why. */
export class MalformedDisclosure extends Error {
  override readonly name = 'MalformedDisclosure';
}

/** Contents that have one part, whose hash is their root. */
const SINGLE = ['reply', 'origin'] as const;
export type Single = (typeof SINGLE)[number];

export interface Disclosure {
  readonly eventId: string;
  readonly leaf: number;
  /** base64; null if the event is bound to no content. */
  readonly contentRoot: string | null;
  /** Root computed from the parts; null if there are none. */
  readonly ownRoot: string | null;
  /** Hashes of the one-part contents `reply` and `origin`, in base64; null if the event is bound to none. */
  readonly single: readonly (readonly [what: Single, hash: string | null])[];
  /** Parts whose hash does not match. */
  readonly problems: readonly string[];
  /** Descriptions of the first parts. */
  readonly words: readonly string[];
  /** Number of all parts. */
  readonly parts: number;
  /** Ids of the erasures that removed parts. */
  readonly erasureIds: ReadonlySet<string>;
}

interface Part {
  readonly name: string;
  readonly hash: Buffer;
  readonly problem: string | null;
  readonly erasureId: string | null;
  words(): string;
}

type Members = Readonly<Record<string, unknown>>;

const requireThat: (holds: boolean, problem: string) => asserts holds = (holds, problem) => {
  if (!holds) throw new MalformedDisclosure(problem);
};

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Longer values are cut: large values are compared by hash, not read in a terminal. */
const CHARACTERS_SHOWN_MAX = 300;

/** Shortens a text to fit in a sentence. */
export const cut = (text: string): string =>
  text.length <= CHARACTERS_SHOWN_MAX ? text : `${text.slice(0, CHARACTERS_SHOWN_MAX)}… (${text.length} characters)`;

const hashOf = (name: string, base64: unknown): Buffer => {
  const bytes = Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64');
  const isHash = bytes.length === HASH_BYTES && bytes.toString('base64') === base64;
  requireThat(isHash, `the hash of part ${name} is not 32 bytes in base64`);
  return bytes;
};

/** 128 bits, in base64url. */
const SALT = /^[\w-]{22}$/;

/** The value in a part's leaf; undefined if the leaf is not `[salt, name, value]` in canonical JSON. */
const valueIn = (leaf: string, name: string): unknown => {
  try {
    const [salt, own, value, ...more] = JSON.parse(leaf) as readonly unknown[];
    const isPart = typeof salt === 'string' && SALT.test(salt) && own === name && more.length === 0;
    return isPart && canonicalJson([salt, own, value]) === leaf ? value : undefined;
  } catch {
    return undefined;
  }
};

const shownPart = (name: string, claimed: Buffer, leaf: string): Part => {
  const hash = leafHash(leaf);
  const value = valueIn(leaf, name);
  const words = (): string => `${name} is ${cut(canonicalJson(value))}`;
  const problemOf = (): string | null => {
    if (value === undefined) return 'is not [salt, name, value] in canonical JSON';
    return hash.equals(claimed) ? null : 'has another hash than its content';
  };
  const problem = problemOf();
  return { name, hash, problem: problem && `part ${name} ${problem}`, erasureId: null, words };
};

const REASONS: Readonly<Record<string, string>> = { erased: 'was erased', expired: 'was removed by retention' };

const removedPart = (name: string, hash: Buffer, removed: unknown): Part => {
  requireThat(isObject(removed), `part ${name} has neither a content nor a word on its removal`);
  const { reason, at, erasure_id: erasureId } = removed;
  const what = REASONS[String(reason)];
  const isBy = erasureId === null || typeof erasureId === 'string';
  requireThat(
    what !== undefined && typeof at === 'string' && isBy && (reason === 'erased') === (erasureId !== null),
    `the removal of part ${name} is not described`,
  );
  const by = erasureId === null ? '' : ` by ${cut(erasureId)}`;
  const words = (): string => `what is called ${name} ${what}${by} at ${cut(at)}, and only its hash is there`;
  return { name, hash, problem: null, erasureId, words };
};

const NAME_CHARACTERS_MAX = 300;

const readPart = (part: unknown): Part => {
  requireThat(isObject(part), 'a part is not an object');
  const { name, leaf, hash, removed } = part;
  const isNamed = typeof name === 'string' && name !== '' && name.length <= NAME_CHARACTERS_MAX;
  requireThat(isNamed, 'a part has no name');
  const claimed = hashOf(name, hash);
  if (leaf === null) return removedPart(name, claimed, removed);
  requireThat(typeof leaf === 'string' && removed === null, `part ${name} is neither shown nor removed`);
  return shownPart(name, claimed, leaf);
};

const membersOf = (json: string): Members => {
  try {
    const members: unknown = JSON.parse(json);
    requireThat(isObject(members) && members.object === 'audit_disclosure', 'it is JSON of another kind');
    return members;
  } catch (error) {
    throw error instanceof MalformedDisclosure ? error : new MalformedDisclosure('it is not JSON');
  }
};

/** Returns undefined if the disclosure does not mention this content. */
const readSingle = (what: Single, value: unknown): readonly [Single, Part | null] | undefined => {
  if (value === undefined) return undefined;
  if (value === null) return [what, null];
  requireThat(isObject(value) && typeof value.root === 'string', `its ${what} has no root`);
  const part = readPart(value.part);
  const isRoot = part.hash.toString('base64') === value.root;
  return [what, isRoot ? part : { ...part, problem: part.problem ?? `its ${what} has another hash than its root` }];
};

/** Parses and checks a disclosure. @param wordsMax number of parts to describe. @throws {MalformedDisclosure} */
export const readDisclosure = (json: string, wordsMax: number): Disclosure => {
  const members = membersOf(json);
  const { event_id: eventId, leaf_index: leaf, content_root: contentRoot, parts } = members;
  requireThat(typeof eventId === 'string' && /^[\w-]{1,100}$/.test(eventId), 'its event_id is not valid');
  requireThat(Number.isSafeInteger(leaf) && Number(leaf) >= 0, 'its leaf_index is no number from 0');
  requireThat(contentRoot === null || typeof contentRoot === 'string', 'its content_root is not valid');
  requireThat(Array.isArray(parts), 'it has no list of parts');
  const read = parts.map(readPart);
  const isRepeated = new Set(read.map(({ name }) => name)).size < read.length;
  requireThat(!isRepeated, 'two of its parts have one name');
  const single = SINGLE.flatMap((what) => {
    const found = readSingle(what, members[what]);
    return found === undefined ? [] : [found];
  });
  const all = [...read, ...single.flatMap(([, part]) => part ?? [])];
  return {
    eventId,
    leaf: Number(leaf),
    contentRoot,
    ownRoot: read.length === 0 ? null : rootOfParts(read.map(({ hash }) => hash)).toString('base64'),
    single: single.map(([what, part]) => [what, part?.hash.toString('base64') ?? null] as const),
    problems: all.flatMap(({ problem }) => problem ?? []),
    words: all.slice(0, wordsMax).flatMap(({ problem, words }) => (problem === null ? words() : [])),
    parts: all.length,
    erasureIds: new Set(all.flatMap(({ erasureId }) => erasureId ?? [])),
  };
};
