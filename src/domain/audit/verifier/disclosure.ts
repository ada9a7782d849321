import { canonicalJson, HASH_BYTES, leafHash, rootOfParts } from '../../../lib/transparency/transparency.ts';
import { CATEGORIES } from '../../kernel/streams.ts';
import type { Leaf } from '../leaf.ts';

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
type Single = (typeof SINGLE)[number];

export interface Disclosure {
  readonly eventId: string;
  readonly leaf: number;
  /** base64; null if the event is bound to no content. */
  readonly contentRoot: string | null;
  /** Root computed from the parts; otherwise null. */
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

export type Members = Readonly<Record<string, unknown>>;

const requireThat: (holds: boolean, problem: string) => asserts holds = (holds, problem) => {
  if (!holds) throw new MalformedDisclosure(problem);
};

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Longer values are cut: large values are compared by hash, not read in a terminal. */
const CHARACTERS_SHOWN_MAX = 300;

/** Shortens a text to fit in a sentence. */
const cut = (text: string): string =>
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
    return hash.equals(claimed) ? null : 'does not match its hash';
  };
  const problem = problemOf();
  return { name, hash, problem: problem && `part ${name} ${problem}`, erasureId: null, words };
};

const REASONS: Readonly<Record<string, string>> = { erased: 'was erased', expired: 'was removed by retention' };

const removedPart = (name: string, hash: Buffer, removed: unknown): Part => {
  requireThat(isObject(removed), `part ${name} has neither content nor a record of its removal`);
  const { reason, at, erasure_id: erasureId } = removed;
  const what = REASONS[String(reason)];
  const isBy = erasureId === null || typeof erasureId === 'string';
  requireThat(
    what !== undefined && typeof at === 'string' && isBy && (reason === 'erased') === (erasureId !== null),
    `the removal record of part ${name} is malformed`,
  );
  const by = erasureId === null ? '' : ` by ${cut(erasureId)}`;
  const words = (): string => `${name} ${what}${by} at ${cut(at)}; only its hash remains`;
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
    requireThat(isObject(members) && members.object === 'audit_disclosure', 'it is JSON, but not a disclosure');
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
  return [what, isRoot ? part : { ...part, problem: part.problem ?? `its ${what} does not match its root` }];
};

/** Parses and checks a disclosure. @param wordsMax number of parts to describe. @throws {MalformedDisclosure} */
export const readDisclosure = (json: string, wordsMax: number): Disclosure => {
  const members = membersOf(json);
  const { event_id: eventId, leaf_index: leaf, content_root: contentRoot, parts } = members;
  requireThat(typeof eventId === 'string' && /^[\w-]{1,100}$/.test(eventId), 'its event_id is not valid');
  requireThat(Number.isSafeInteger(leaf) && Number(leaf) >= 0, 'its leaf_index is not a whole number from 0');
  requireThat(contentRoot === null || typeof contentRoot === 'string', 'its content_root is not valid');
  requireThat(Array.isArray(parts), 'it has no list of parts');
  const read = parts.map(readPart);
  const isRepeated = new Set(read.map(({ name }) => name)).size < read.length;
  requireThat(!isRepeated, 'two of its parts have the same name');
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

/** Checks that disclosures supplied with an export show the content to which its leaves are bound. */

interface DisclosureChecks {
  /** Checks the disclosure of this event. @returns the problems found in it. */
  next(event: Leaf, leaf: number): readonly string[];
  /** Reports problems within the disclosures, and disclosures of events that are not in the export. */
  end(): readonly Finding[];
  /** Disclosed content that is bound to leaves of the export. */
  readonly sentences: readonly string[];
}

/** Further sentences of a kind are counted, not listed. */
const NAMED_MAX = 100;

const named = (sentences: readonly string[]): readonly string[] =>
  sentences.length <= NAMED_MAX
    ? sentences
    : [...sentences.slice(0, NAMED_MAX), `and ${sentences.length - NAMED_MAX} more about disclosures`];

const ERASURE = `${CATEGORIES.erasure}-`;

/** The root that the leaf states for a content of one part. */
const singleRoot = ({ data, metadata }: Leaf, what: Single): unknown => {
  const { smtp } = data as { readonly smtp?: { readonly replyRoot?: unknown } | null };
  const { originRoot } = metadata as { readonly originRoot?: unknown };
  return (what === 'reply' ? smtp?.replyRoot : originRoot) ?? null;
};

const unbound = (event: Leaf, at: number, { single }: Disclosure): readonly string[] =>
  single
    .filter(([what, hash]) => singleRoot(event, what) !== hash)
    .map(([what]) => `the ${what} disclosed for event ${event.id} does not match leaf ${at}`);

/** Contradictions between an event's leaf and its disclosure. */
const contradictions = (event: Leaf, at: number, disclosure: Disclosure): readonly string[] => {
  const { data, id } = event;
  const { leaf, contentRoot, ownRoot } = disclosure;
  const found: string[] = [...unbound(event, at, disclosure)];
  if (leaf !== at) found.push(`event ${id} is leaf ${at}, but its disclosure says leaf ${leaf}`);
  const bound = data.contentRoot ?? null;
  if (bound !== contentRoot) found.push(`leaf ${at}, event ${id}, has a different content root than its disclosure`);
  else if (ownRoot !== null && ownRoot !== bound)
    found.push(`the parts disclosed for event ${id} do not match the content of leaf ${at}`);
  return found;
};

/** Creates the checks. `from` and `size` are those of the export. */
export const createDisclosureChecks = (
  { from, size }: { readonly from: number; readonly size: number },
  disclosures: readonly Disclosure[],
): DisclosureChecks => {
  const awaited = new Map(disclosures.map((each) => [each.eventId, each]));
  const erasures = new Set(disclosures.flatMap(({ erasureIds }) => [...erasureIds]));
  const sentences: string[] = [];
  let unnamed = 0;

  const show = ({ eventId, contentRoot, parts, words, problems }: Disclosure, leaf: number): void => {
    const what = `leaf ${leaf}, event ${eventId}`;
    if (contentRoot === null && parts === 0) sentences.push(`${what}, has no content`);
    for (const each of words) sentences.push(`${what}: ${each}`);
    unnamed += parts - words.length - problems.length;
  };

  const next = (event: Leaf, leaf: number): readonly string[] => {
    if (event.stream.startsWith(ERASURE)) erasures.delete(event.stream.slice(ERASURE.length));
    const disclosure = awaited.get(event.id);
    if (disclosure === undefined) return [];
    awaited.delete(event.id);
    const problems = contradictions(event, leaf, disclosure);
    if (problems.length === 0) show(disclosure, leaf);
    return problems;
  };

  const isOutside = ({ leaf }: Disclosure): boolean => leaf < from || leaf >= size;

  const outside = ({ eventId, leaf }: Disclosure): string =>
    `event ${eventId} is not in this export: its disclosure says leaf ${leaf}, but the export contains leaves ${from} to ${size - 1}`;

  const end = (): readonly Finding[] => {
    const rest = [...awaited.values()];
    const faults = [
      ...disclosures.flatMap(({ eventId, problems }) => problems.map((each) => `event ${eventId}: ${each}`)),
      ...rest
        .filter((each) => !isOutside(each))
        .map(
          ({ eventId, leaf }) => `event ${eventId} is not in the log, although its disclosure says it is leaf ${leaf}`,
        ),
    ];
    const doubts = [
      ...rest.filter(isOutside).map(outside),
      ...disclosures
        .filter(({ contentRoot, ownRoot }) => contentRoot !== null && ownRoot === null)
        .map(({ eventId }) => `the disclosure of event ${eventId} shows neither content nor hashes`),
      ...[...erasures].map((id) => `the erasure ${cut(id)}, which removed parts, is not in this export`),
    ];
    return [
      ...named(faults).map((sentence) => ({ kind: 'fault', sentence }) as const),
      ...named(doubts).map((sentence) => ({ kind: 'doubt', sentence }) as const),
    ];
  };

  return {
    next,
    end,
    get sentences() {
      return unnamed > 0 ? [...sentences, `and ${unnamed} more parts that are not named`] : sentences;
    },
  };
};

/** Compares the leaves of a bundle with the hashes that the export claims for them. */

/** `doubt`: not wrong, but not proved right either. `difference`: the leaves and the hashes after them disagree. */
export type Finding =
  | { readonly kind: 'fault' | 'doubt'; readonly sentence: string }
  | {
      readonly kind: 'difference';
      readonly sentence: string;
      /** The first leaf of the bundle. */
      readonly leaf: number;
    };

/** A leaf found in the export. */
interface FoundLeaf {
  /** A description of the event, or a note that the leaf is not an event. */
  readonly words: string;
}

interface Bundle {
  /** Number of the first leaf. */
  readonly start: number;
  readonly leaves: readonly FoundLeaf[];
  /** Concatenated hashes of the leaves in the export. */
  readonly found: Buffer;
  /** Concatenated hashes on the line after the leaves. */
  readonly claimed: Buffer;
}

/** Hashes as text, and the index of each hash in its list. */
interface Sides {
  readonly found: readonly string[];
  readonly claimed: readonly string[];
  readonly foundAt: ReadonlyMap<string, number>;
  readonly claimedAt: ReadonlyMap<string, number>;
}

const listOf = (hashes: Buffer): readonly string[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, at) =>
    hashes.toString('latin1', at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );

/** Keeps the last index of each hash. If a leaf is repeated, its first occurrence is the right one. */
const placesOf = (hashes: readonly string[]): ReadonlyMap<string, number> =>
  new Map(hashes.map((hash, at) => [hash, at]));

/** One step through both lists: the sentence to report, and how far to advance in each list. */
interface Step {
  readonly sentence: string | null;
  readonly found: 0 | 1;
  readonly claimed: 0 | 1;
}

const isRepeated = (sides: Sides, hash: string): boolean => sides.found.indexOf(hash) !== sides.foundAt.get(hash);

/** Handles two leaves that are in both lists but in a different order. */
const stepOutOfOrder = ({ start, leaves }: Bundle, sides: Sides, i: number, j: number): Step => {
  const [hash, wanted] = [sides.found[i] as string, sides.claimed[j] as string];
  const place = sides.claimedAt.get(hash) as number;
  const ahead = (sides.foundAt.get(wanted) as number) - i;
  if (ahead < 0) return { sentence: null, found: 0, claimed: 1 };
  if (place > j && place - j <= ahead) return { sentence: null, found: 0, claimed: 1 };
  const words = leaves[i]?.words;
  const sentence = isRepeated(sides, hash)
    ? `leaf ${start + place}, ${words}, appears twice`
    : `leaf ${start + place}, ${words}, is in the wrong place`;
  return { sentence, found: 1, claimed: 0 };
};

const missing = ({ start, leaves }: Bundle, i: number, j: number): string => {
  const before = i > 0 ? ` after ${leaves[i - 1]?.words}` : '';
  const after = leaves[i] === undefined ? '' : ` before ${leaves[i].words}`;
  const between = before !== '' && after !== '' ? ` between ${leaves[i - 1]?.words} and ${leaves[i]?.words}` : '';
  return `leaf ${start + j} is missing${between || before || after}`;
};

/** Handles the rest of one list after the other has ended. */
const stepAtEnd = ({ start, leaves }: Bundle, sides: Sides, i: number): Step => {
  const hash = sides.found[i];
  if (hash === undefined) return { sentence: null, found: 0, claimed: 1 };
  const leaf = `leaf ${start + (sides.claimedAt.get(hash) as number)}, ${leaves[i]?.words},`;
  const sentence = isRepeated(sides, hash) ? `${leaf} appears twice` : `${leaf} is in the wrong place`;
  return { sentence, found: 1, claimed: 0 };
};

const lacks = (places: ReadonlyMap<string, number>, hash: string | undefined): boolean =>
  hash !== undefined && !places.has(hash);

const stepOf = (bundle: Bundle, sides: Sides, i: number, j: number): Step => {
  const [hash, wanted] = [sides.found[i], sides.claimed[j]];
  if (hash === wanted) return { sentence: null, found: 1, claimed: 1 };
  const isForeign = lacks(sides.claimedAt, hash);
  const isGone = lacks(sides.foundAt, wanted);
  const words = bundle.leaves[i]?.words;
  const leaf = `leaf ${bundle.start + j}`;
  if (isForeign && isGone) return { sentence: `${leaf} was altered: now it says ${words}`, found: 1, claimed: 1 };
  if (isGone) return { sentence: missing(bundle, i, j), found: 0, claimed: 1 };
  if (isForeign) return { sentence: `${words} was inserted before ${leaf}`, found: 1, claimed: 0 };
  return hash === undefined || wanted === undefined ? stepAtEnd(bundle, sides, i) : stepOutOfOrder(bundle, sides, i, j);
};

/** Reports each difference, in leaf order. */
export const differences = (bundle: Bundle): readonly Finding[] => {
  const [found, claimed] = [listOf(bundle.found), listOf(bundle.claimed)];
  const sides: Sides = { found, claimed, foundAt: placesOf(found), claimedAt: placesOf(claimed) };
  const findings: Finding[] = [];
  for (let i = 0, j = 0; i < found.length || j < claimed.length; ) {
    const { sentence, ...step } = stepOf(bundle, sides, i, j);
    if (sentence !== null) findings.push({ kind: 'difference', sentence, leaf: bundle.start });
    i += step.found;
    j += step.claimed;
  }
  return findings;
};
