import type { TextLines } from './text-lines.ts';

/** Nothing that a reader could open: scripts, embedded data, parts of this mail. */
const NO_TARGET = /^(?:#|javascript:|vbscript:|data:|cid:|about:)/i;
/** Spelled out to readers without it. */
const ADDRESS = /^(?:mailto|tel|sms):/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers take them out of addresses
const UNREAD = /[\0-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const comparable = (value: string): string =>
  value.replace(UNREAD, '').replace(/\s+/g, '').replace(/\/$/, '').toLowerCase();

const digits = (value: string): string => value.replace(UNREAD, '').replace(/[\s()./-]/g, '');

/** What is shown of a link, without what it does in its reader's program (`?subject=`). */
const targetOf = (href: string): string => {
  const address = href.replace(UNREAD, '').trim();
  if (NO_TARGET.test(address)) return '';
  if (!ADDRESS.test(address)) return address.replace(/\s/g, '%20');
  return address.replace(ADDRESS, '').replace(/\?.*$/s, '').replace(/\s/g, '');
};

/** What is added behind the text of a link, one word: empty where nobody would miss it. */
export const linkTarget = (href: string, text: string): string => {
  const target = targetOf(href);
  if (target === '' || comparable(target) === comparable(text)) return '';
  return ADDRESS.test(href.trim()) && digits(target) === digits(text) ? '' : target;
};

interface Link {
  readonly href: string;
  /** As much of it as is needed to see whether it is the same as the href. */
  text: string;
  readonly piecesBefore: number;
  hasUnnamedImage: boolean;
}

export interface TextLinks {
  start(href: string): void;
  /** Text was added to the lines, in a link or not. */
  text(chunk: string): void;
  unnamedImage(): void;
  end(): void;
}

/** `text [href]`: links do not nest, and one that nothing is seen of is left out. */
export const createTextLinks = (lines: TextLines): TextLinks => {
  let link: Link | undefined;

  const show = ({ href, text, piecesBefore, hasUnnamedImage }: Link): void => {
    const target = linkTarget(href, text);
    if (target === '') return;
    if (lines.pieces() > piecesBefore) lines.suffix(`[${target}]`);
    // A picture that should have had a name may be all there is of a button.
    else if (hasUnnamedImage) lines.text(`[${target}]`);
  };

  const end = (): void => {
    if (link !== undefined) show(link);
    link = undefined;
  };

  return {
    end,
    start: (href) => {
      end();
      link = { href, text: '', piecesBefore: lines.pieces(), hasUnnamedImage: false };
    },
    text: (chunk) => {
      if (link !== undefined && link.text.length <= link.href.length) link.text += chunk;
    },
    unnamedImage: () => {
      if (link !== undefined) link.hasUnnamedImage = true;
    },
  };
};
