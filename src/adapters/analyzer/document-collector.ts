import type { ElementFact, HtmlFacts } from '../../domain/analysis/facts.ts';
import { activeContentsOf, isExternalStyle } from './read-active-content.ts';
import type { StartTag } from './start-tag.ts';

const IMPORT = /@import\b/gi;
const MEDIA = '@media';

/** What the document as a whole is like, and what does not belong into mail. */
export const createDocumentCollector = () => {
  const activeContents: ElementFact[] = [];
  const externalStyles: ElementFact[] = [];
  let root: HtmlFacts['root'] = null;
  let hasMediaQueries = false;

  return {
    tag: (tag: StartTag): void => {
      const { name, offset } = tag;
      if (name === 'html') root ??= { offset, lang: tag.attribute('lang') ?? '' };
      if (isExternalStyle(tag)) externalStyles.push({ what: '<link>', offset });
      for (const found of activeContentsOf(tag)) activeContents.push(found);
    },
    /** @param offset where the text of a style element begins. */
    css: (text: string, offset: number): void => {
      hasMediaQueries ||= text.includes(MEDIA);
      for (const { index } of text.matchAll(IMPORT)) externalStyles.push({ what: '@import', offset: offset + index });
    },
    facts: () => ({ activeContents, externalStyles, root, hasMediaQueries }),
  };
};
