import { CATEGORIES } from '../../kernel/streams.ts';
import type { Leaf } from '../leaf.ts';
import type { Finding } from './compare-bundle.ts';
import { cut, type Disclosure, type Single } from './disclosure.ts';

/** Checks that disclosures supplied with an export show the content to which its leaves are bound. */

export interface DisclosureChecks {
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
    : [...sentences.slice(0, NAMED_MAX), `and ${sentences.length - NAMED_MAX} more of disclosures`];

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
    .map(([what]) => `the ${what} that is disclosed of event ${event.id} is not what leaf ${at} is bound to`);

/** Contradictions between an event's leaf and its disclosure. */
const contradictions = (event: Leaf, at: number, disclosure: Disclosure): readonly string[] => {
  const { data, id } = event;
  const { leaf, contentRoot, ownRoot } = disclosure;
  const found: string[] = [...unbound(event, at, disclosure)];
  if (leaf !== at) found.push(`event ${id} is leaf ${at}, and not ${leaf} as its disclosure says`);
  const bound = data.contentRoot ?? null;
  if (bound !== contentRoot) found.push(`leaf ${at}, event ${id}, says another content root than its disclosure`);
  else if (ownRoot !== null && ownRoot !== bound)
    found.push(`the parts that are disclosed of event ${id} are not the content that leaf ${at} is bound to`);
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
    if (contentRoot === null && parts === 0) sentences.push(`${what}, is bound to no content`);
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
    `event ${eventId} is not in this export: its disclosure says leaf ${leaf}, and the export has ${from} to ${size - 1}`;

  const end = (): readonly Finding[] => {
    const rest = [...awaited.values()];
    const faults = [
      ...disclosures.flatMap(({ eventId, problems }) => problems.map((each) => `event ${eventId}: ${each}`)),
      ...rest
        .filter((each) => !isOutside(each))
        .map(({ eventId, leaf }) => `event ${eventId}, leaf ${leaf} as its disclosure says, is not in the log`),
    ];
    const doubts = [
      ...rest.filter(isOutside).map(outside),
      ...disclosures
        .filter(({ contentRoot, ownRoot }) => contentRoot !== null && ownRoot === null)
        .map(({ eventId }) => `of the content of event ${eventId} nothing is disclosed, no hash either`),
      ...[...erasures].map((id) => `the erasure ${cut(id)}, by which parts were removed, is not in this export`),
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
