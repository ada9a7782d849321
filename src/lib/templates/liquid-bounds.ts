/** Limits on a Liquid source, enforced before any recursive or quadratic code sees it. */

/** A single larger part contains html that belongs in a layout, or data. */
export const SOURCE_CHARACTERS_MAX = 200_000;
/** Nesting of tags. Parsing and rendering are recursive. */
const DEPTH_MAX = 100;
/** Parsing a tag takes microseconds, so more of them block the event loop. */
const TAGS_MAX = 5_000;
/** A path, or a chain of filters. A longer one is evaluated without a check of the time. */
const TAG_CHARACTERS_MAX = 2_000;

/** Offset of the next `{{` or `{%`; -1: not found. */
const nextTag = (source: string, from: number): number => {
  for (let at = source.indexOf('{', from); at >= 0; at = source.indexOf('{', at + 1)) {
    if (source[at + 1] === '{' || source[at + 1] === '%') return at;
  }
  return -1;
};

/** Enough for `{%-`, some space, and the name. */
const BLOCK_NAME_CHARACTERS = 40;
const BLOCK = /^%-?\s*(end)?(?:if|unless|for|case|capture|comment|raw)\b/;

interface Tag {
  /** Characters, or the rest of the source if the tag does not end. */
  readonly length: number;
  /** Change in the number of open blocks: 1 opens one, -1 ends one. */
  readonly opens: number;
}

const tagAt = (source: string, start: number): Tag => {
  const end = source.indexOf(source[start + 1] === '{' ? '}}' : '%}', start + 2);
  const [found, ends] = BLOCK.exec(source.slice(start + 1, start + 1 + BLOCK_NAME_CHARACTERS)) ?? [];
  const opens = found === undefined ? 0 : 1;
  return { length: (end < 0 ? source.length : end + 2) - start, opens: ends === undefined ? opens : -1 };
};

function* tagsIn(source: string): Generator<Tag> {
  for (let start = nextTag(source, 0); start >= 0; ) {
    const tag = tagAt(source, start);
    yield tag;
    start = nextTag(source, start + tag.length);
  }
}

/** Checks the limits. @returns the problem, or null. */
export const tooLarge = (source: string): string | null => {
  if (source.length > SOURCE_CHARACTERS_MAX) return `it is longer than ${SOURCE_CHARACTERS_MAX} characters`;
  let depth = 0;
  let tags = 0;
  for (const { length, opens } of tagsIn(source)) {
    depth += opens;
    tags += 1;
    if (length > TAG_CHARACTERS_MAX) return `a tag is longer than ${TAG_CHARACTERS_MAX} characters`;
    if (depth > DEPTH_MAX) return `its tags are more than ${DEPTH_MAX} deep in one another`;
    if (tags > TAGS_MAX) return `it has more than ${TAGS_MAX} tags`;
  }
  return null;
};
