import type { LinkFact } from '../../domain/analysis/facts.ts';
import { targetOf } from '../../domain/analysis/hosts.ts';
import type { StartTag } from './start-tag.ts';

/** An address that somebody reads is shorter. */
const TEXT_CHARACTERS_MAX = 200;

type OpenLink = Omit<LinkFact, 'text' | 'target'> & { text: string };

/** Links with what stands in them. */
export const createLinkCollector = () => {
  const links: LinkFact[] = [];
  let open: OpenLink | null = null;

  const end = (): void => {
    if (open !== null) links.push({ ...open, text: open.text.trim(), target: targetOf(open.href) });
    open = null;
  };

  return {
    start: ({ offset, attribute }: StartTag): void => {
      end();
      const href = attribute('href');
      if (href !== undefined) open = { offset, href, text: '' };
    },
    /** Of an image map: its link has no content. */
    area: ({ offset, attribute }: StartTag): void => {
      const href = attribute('href');
      if (href !== undefined) links.push({ offset, href, target: targetOf(href), text: attribute('alt') ?? '' });
    },
    text: (text: string): void => {
      if (open !== null) open.text += text.slice(0, Math.max(0, TEXT_CHARACTERS_MAX - open.text.length));
    },
    end,
    links,
  };
};
