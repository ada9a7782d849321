import { linkTarget } from './link-target.ts';
import type { TextLines } from './text-lines.ts';

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
