import { domainToUnicode } from 'node:url';

/**
 * Classifies the target of a URL or of a word in a text: its kind, its host, the site that the host belongs to, and
 * whether its name deceives the eye. Nothing is looked up.
 */

/** Target of an `href` or `src`, for the rules about links. */
export type Target =
  | { readonly kind: 'web'; readonly host: string; readonly plain: boolean }
  | { readonly kind: 'script' | 'data' | 'empty' | 'fragment' | 'file' | 'malformed' | 'other' };

const SCHEMES: Readonly<Record<string, Exclude<Target['kind'], 'web'>>> = {
  'javascript:': 'script',
  'vbscript:': 'script',
  'data:': 'data',
  'file:': 'file',
};
/** Base URL without a location: addresses in mail have no base to be relative to. */
const BASE = 'about:blank';

/** Host names here have no trailing dot. */
const hostOf = ({ hostname }: URL): string => (hostname.endsWith('.') ? hostname.slice(0, -1) : hostname);

/** Reads an address the way browsers do (URL Standard). */
export const targetOf = (address: string): Target => {
  const trimmed = address.trim();
  if (trimmed === '' || trimmed === '#') return { kind: 'empty' };
  if (trimmed.startsWith('#')) return { kind: 'fragment' };
  const url = URL.parse(trimmed, BASE);
  if (url === null) return { kind: 'malformed' };
  if (url.protocol === 'http:' || url.protocol === 'https:')
    return { kind: 'web', host: hostOf(url), plain: url.protocol === 'http:' };
  return { kind: SCHEMES[url.protocol] ?? 'other' };
};

/** Private name endings: RFC 6761, RFC 6762, RFC 8375 and common in-house ones. */
const PRIVATE_ENDINGS = ['.localhost', '.local', '.internal', '.intranet', '.lan', '.home', '.corp', '.home.arpa'];

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
/** ::, ::1, fc00::/7, fe80::/10. */
const PRIVATE_IPV6 = /^\[(?:::1?\]|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:)/;
/** IPv4-mapped addresses (RFC 4291 §2.5.5.2), in the spelling of the URL Standard. */
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** First octet, and bounds of the second: this network, private use, loopback, link-local, shared space (RFC 6890). */
const PRIVATE_IPV4: readonly (readonly [number, number, number])[] = [
  [0, 0, 255],
  [10, 0, 255],
  [100, 64, 127],
  [127, 0, 255],
  [169, 254, 254],
  [172, 16, 31],
  [192, 168, 168],
];

const isPrivateIpv4 = (first: number, second: number): boolean =>
  PRIVATE_IPV4.some(([octet, low, high]) => first === octet && second >= low && second <= high);

/** Whether a URL's host is a literal address. */
export const isIpAddress = (host: string): boolean => host.startsWith('[') || IPV4.test(host);

/** True if a URL's host has a meaning only on the sender's own machine or network. */
export const isPrivateHost = (host: string): boolean => {
  const ipv4 = IPV4.exec(host);
  if (ipv4 !== null) return isPrivateIpv4(Number(ipv4[1]), Number(ipv4[2]));
  const mapped = MAPPED_IPV4.exec(host);
  if (mapped !== null) {
    const high = Number.parseInt(mapped[1] ?? '0', 16);
    return isPrivateIpv4(high >> 8, high & 0xff);
  }
  if (host.startsWith('[')) return PRIVATE_IPV6.test(host);
  return !host.includes('.') || PRIVATE_ENDINGS.some((ending) => host.endsWith(ending));
};

/** Second-level labels that belong to the suffix of a two-letter domain: `shop.co.uk` is a site, `co.uk` is not. */
const SECOND_LEVEL_LABELS: ReadonlySet<string> = new Set(
  'ac asn co com edu go gob gov gouv govt gv id ltd me mil net ne nhs nom or org plc police sch school web'.split(' '),
);

const COUNTRY_CHARACTERS = 2;
const SITE_LABELS = 2;

/**
 * The part of a host that belongs to one owner: its last two labels, or three under suffixes like `co.uk`. There is no
 * public suffix list here, so two customers of `github.io` are treated as one site.
 * @param host in lower case, without a trailing dot. An IP address is its own site.
 */
export const siteOf = (host: string): string => {
  const labels = host.split('.');
  const top = labels.at(-1) ?? '';
  if (host.startsWith('[') || /^\d+$/.test(top)) return host;
  const isSuffix = top.length === COUNTRY_CHARACTERS && SECOND_LEVEL_LABELS.has(labels.at(-SITE_LABELS) ?? '');
  return labels.slice(isSuffix ? -SITE_LABELS - 1 : -SITE_LABELS).join('.');
};

/** Redirecting hosts that anyone may use, spammers included. */
export const URL_SHORTENERS: ReadonlySet<string> = new Set([
  ...'adf.ly bit.do bit.ly bitly.com bl.ink buff.ly clck.ru cli.gs cutt.ly db.tt dlvr.it fb.me goo.gl'.split(' '),
  ...'ift.tt is.gd j.mp kutt.it lnkd.in mcaf.ee moourl.com ow.ly po.st qr.ae rb.gy rebrand.ly'.split(' '),
  ...'s.id shorte.st short.gy short.io shorturl.at smarturl.it snip.ly soo.gd su.pr surl.li t.co t.ly t.me'.split(' '),
  ...'tiny.cc tiny.one tinyurl.com tr.im trib.al u.to urlz.fr v.gd v.ht vk.cc vzturl.com wa.link x.co'.split(' '),
]);

/**
 * Endings that make a bare word of a text a host name. Endings that are also used for files and other dotted names
 * (`Node.js`, `main.py`, `README.md`) are left out.
 */
const TOP_LEVEL_NAMES: ReadonlySet<string> = new Set([
  ...'com net org info biz edu gov mil int name pro coop app dev shop store online site website cloud bank'.split(' '),
  ...'tech club xyz top page blog news email live link space world today digital agency money finance'.split(' '),
  ...'ae ar at au be bg br ca ch cl cn co cz de dk ee es eu fi fr gr hk hr hu ie il in io ir it jp kr lt lu'.split(' '),
  ...'lv mx my nl no nz pe ph pk pt ro ru sa se sg si sk th tr tw ua uk us uy ve vn za'.split(' '),
]);

export interface NamedHost {
  readonly host: string;
  /** `url`: unmistakably a URL; `name`: a word that looks like a host name. */
  readonly kind: 'url' | 'name';
}

/** Invisible characters. `ba\u00adnk.example` is read as a host all the same. */
const UNSEEN = /\p{Cf}/gu;
const WORD = /\S+/g;
const AROUND = new Set('()<>[]{}"\'“”„‘’«».,;:!?…*_');
const URL_START = /^(?:https?:\/\/|www\.)/i;
const BARE_NAME = /^[A-Za-z]?[a-z0-9-]*(?:\.[a-z0-9-]+)+(?=$|[/?#:])/;

/** Removes the punctuation that text puts around a word. */
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

/** Hosts named in a short text, in a URL or as bare names. Hosts of e-mail addresses are excluded. */
export const namedHosts = (text: string): readonly NamedHost[] => {
  if (!text.includes('.')) return [];
  return (text.replaceAll(UNSEEN, '').match(WORD) ?? [])
    .filter((word) => word.includes('.') && !word.includes('@'))
    .flatMap((word) => hostOfWord(bared(word)) ?? []);
};

/**
 * Letters that look like an ASCII letter in most fonts: the part of Unicode UTS #39, confusables.txt, that occurs in
 * host names. Diacritics are not included, since `müller` is a deliberate spelling.
 */
const PAIRS =
  // Cyrillic
  'аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw ӏl кk ԍg ѵv ' +
  // Greek
  'οo αa νv ρp ιi κk υu χx γy σo ηn ' +
  // Armenian
  'օo ոn սu հh ցg զq ' +
  // Latin letters of phonetics
  'ɑa ɡg ɩi ʋu ᴏo ᴠv ᴡw ᴢz ꜱs';

/** ASCII lookalike of each letter. */
const CONFUSABLES: ReadonlyMap<string, string> = new Map(
  PAIRS.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const),
);

/** Scripts that are mixed within one word only to deceive. Han, Kana, Hangul and Latin have legitimate mixtures. */
const SCRIPTS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Georgian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Thai}/u,
];
const ASCII = /^[\0-\x7f]*$/;

interface Lookalike {
  /** Host name as readers see it. */
  readonly shown: string;
  /** `mixes scripts`. */
  readonly why: string;
}

const skeletonOf = (label: string): string => Array.from(label, (letter) => CONFUSABLES.get(letter) ?? letter).join('');

/** True if a word mixes scripts that are combined only to deceive. */
export const mixesScripts = (word: string): boolean => SCRIPTS.filter((script) => script.test(word)).length > 1;

const whyOf = (label: string, topIsAscii: boolean): string | null => {
  if (ASCII.test(label)) return null;
  if (mixesScripts(label)) return 'mixes scripts in one word';
  const skeleton = skeletonOf(label);
  return topIsAscii && ASCII.test(skeleton) ? `looks like ${skeleton}` : null;
};

/**
 * Whether a host name deceives the eye: letters of several scripts in one label, or a label under an ASCII ending that
 * looks like ASCII letter by letter.
 * @param host in A-labels.
 */
export const lookalikeOf = (host: string): Lookalike | null => {
  if (!host.includes('xn--')) return null;
  const shown = domainToUnicode(host);
  const labels = shown.split('.');
  const topIsAscii = ASCII.test(labels.at(-1) ?? '');
  for (const label of labels) {
    const why = whyOf(label, topIsAscii);
    if (why !== null) return { shown, why };
  }
  return null;
};
