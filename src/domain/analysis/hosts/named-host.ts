import { TOP_LEVEL_NAMES } from './top-level-names.ts';

export interface NamedHost {
  readonly host: string;
  /** `url`: nobody can take it for anything else; `name`: a word that looks like a host name. */
  readonly kind: 'url' | 'name';
}

/** They take no room: `ba\u00adnk.example` is read as a host all the same. */
const UNSEEN = /\p{Cf}/gu;
const WORD = /\S+/g;
const AROUND = new Set('()<>[]{}"\'“”„‘’«».,;:!?…*_');
const URL_START = /^(?:https?:\/\/|www\.)/i;
const BARE_NAME = /^[A-Za-z]?[a-z0-9-]*(?:\.[a-z0-9-]+)+(?=$|[/?#:])/;

/** Without the punctuation that text puts around it. */
const bared = (word: string): string => {
  let start = 0;
  let end = word.length;
  while (start < end && AROUND.has(word[start] ?? '')) start += 1;
  while (end > start && AROUND.has(word[end - 1] ?? '')) end -= 1;
  return word.slice(start, end);
};

const hostOfUrl = (text: string): string | undefined =>
  URL.parse(/^www/i.test(text) ? `http://${text}` : text)?.hostname;

const hostOfWord = (word: string): NamedHost | null => {
  if (URL_START.test(word)) {
    const host = hostOfUrl(word);
    return host === undefined || !host.includes('.') ? null : { host, kind: 'url' };
  }
  const name = BARE_NAME.exec(word)?.[0].toLowerCase() ?? '';
  return TOP_LEVEL_NAMES.has(name.slice(name.lastIndexOf('.') + 1)) ? { host: name, kind: 'name' } : null;
};

/** The hosts that a short text names, in a URL or by themselves; those of e-mail addresses are not among them. */
export const namedHosts = (text: string): readonly NamedHost[] => {
  if (!text.includes('.')) return [];
  return (text.replaceAll(UNSEEN, '').match(WORD) ?? [])
    .filter((word) => word.includes('.') && !word.includes('@'))
    .flatMap((word) => hostOfWord(bared(word)) ?? []);
};
