/** Searches the API reference: a scan of some 400 entries, which takes about a millisecond. */

export interface SearchEntry {
  readonly title: string;
  readonly href: string;
  /** `POST /v1/messages/send`, or what kind of thing it is. */
  readonly subtitle: string;
  /** Plain text. */
  readonly description: string;
  /** Further words by which it is found: names of fields. */
  readonly words: string;
}

/** Longer is cut off. It costs a person a word, and saves the scan of an address that is one long query. */
export const QUERY_MAX = 100;
/** More words find nothing that fewer do not; each costs a scan. */
const WORDS_MAX = 8;
/** More would not be read, and make the page long. */
const RESULTS_MAX = 30;

interface IndexedEntry {
  readonly entry: SearchEntry;
  readonly title: string;
  readonly subtitle: string;
  readonly all: string;
}

const normal = (text: string): string => text.normalize('NFKC').toLowerCase();

/** How well a word fits an entry in which it occurs. */
const wordScore = ({ title, subtitle }: IndexedEntry, word: string): number =>
  1 + Number(title.includes(word)) * 8 + Number(title.startsWith(word)) * 4 + Number(subtitle.includes(word)) * 4;

/** How well an entry fits; 0: it does not contain every word. */
const scoreOf = (one: IndexedEntry, words: readonly string[]): number =>
  words.every((word) => one.all.includes(word)) ? words.reduce((sum, word) => sum + wordScore(one, word), 0) : 0;

export const createSearch = (entries: readonly SearchEntry[]) => {
  const prepared = entries.map((entry) => ({
    entry,
    title: normal(entry.title),
    subtitle: normal(entry.subtitle),
    all: normal([entry.title, entry.subtitle, entry.description, entry.words].join('\n')),
  }));
  /** The best first; of equals, in the order of the reference. */
  return (query: string): readonly SearchEntry[] => {
    const words = [...new Set(normal(query.slice(0, QUERY_MAX)).split(/\s+/).filter(Boolean))].slice(0, WORDS_MAX);
    if (words.length === 0) return [];
    return prepared
      .map((one) => ({ entry: one.entry, score: scoreOf(one, words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, RESULTS_MAX)
      .map(({ entry }) => entry);
  };
};
