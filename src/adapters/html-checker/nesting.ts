import {
  ENDED_BY_START,
  NEVER_NESTED,
  ONCE,
  OPTIONAL_END,
  PARAGRAPH_END_REQUIRED_IN,
  VOID_ELEMENTS,
} from './elements.ts';
import { createOpenElements, type OpenElement, type Place } from './open-elements.ts';

export interface Tag extends Place {
  readonly name: string;
  readonly selfClosing: boolean;
}

type Report = (place: Place, message: string) => void;

const isForeignRoot = (name: string): boolean => name === 'svg' || name === 'math';

/**
 * Follows start and end tags as an author means them: like the standard's parser where it lets end tags be left out,
 * but without its repairs, which are what is to be reported. A repair is reported once, not again for every tag that
 * it upsets.
 */
export const createNesting = (report: Report) => {
  const open = createOpenElements();
  const seen = new Set<string>();
  const ended = new Set<string>();
  /** End tags that will come for elements which a reported one ended. */
  const forgiven = new Map<string, number>();

  const forgive = (name: string): void => void forgiven.set(name, (forgiven.get(name) ?? 0) + 1);

  const wasForgiven = (name: string): boolean => {
    const left = forgiven.get(name) ?? 0;
    if (left > 0) forgiven.set(name, left - 1);
    return left > 0;
  };

  const needsEndTag = ({ name }: OpenElement): boolean =>
    !OPTIONAL_END.has(name) || (name === 'p' && PARAGRAPH_END_REQUIRED_IN.has(open.top()?.name ?? ''));

  const reportUnclosed = (element: OpenElement): void =>
    report(
      element,
      `element <${element.name}> is not closed${element.selfClosing ? ' (its "/" does not close it)' : ''}`,
    );

  const endImplied = (name: string): void => {
    const endable = ENDED_BY_START.get(name);
    while (endable?.has(open.top()?.name ?? '')) open.pop();
  };

  const isInForeign = (): boolean => open.isOpen('svg') || open.isOpen('math');

  const isComplete = ({ name, selfClosing }: Tag): boolean =>
    VOID_ELEMENTS.has(name) || (selfClosing && (name.includes(':') || isForeignRoot(name) || isInForeign()));

  const isDropped = (name: string): boolean =>
    (NEVER_NESTED.has(name) && open.isOpen(name)) || (ONCE.has(name) && seen.has(name));

  const startTag = (tag: Tag): void => {
    if (isDropped(tag.name)) {
      report(tag, `unexpected start tag <${tag.name}>`);
      forgive(tag.name);
      return;
    }
    seen.add(tag.name);
    endImplied(tag.name);
    if (!isComplete(tag)) open.push(tag);
  };

  /** Ends everything down to the innermost open element of that name. */
  const closeDownTo = (tag: Tag): void => {
    let blocker: OpenElement | undefined;
    for (let element = open.pop(); element !== undefined && element.name !== tag.name; element = open.pop()) {
      if (!needsEndTag(element)) continue;
      blocker ??= element;
      forgive(element.name);
    }
    if (blocker === undefined) return;
    const where = `line ${blocker.line}, column ${blocker.column}`;
    report(tag, `unexpected end tag </${tag.name}>: <${blocker.name}> of ${where} is still open`);
  };

  /** In the order of the text, which is not that of the stack. */
  const closeAllDownTo = (name: string): void => {
    const unclosed: OpenElement[] = [];
    for (let element = open.pop(); element !== undefined && element.name !== name; element = open.pop()) {
      if (needsEndTag(element)) unclosed.push(element);
    }
    for (const element of unclosed.reverse()) reportUnclosed(element);
  };

  const reportUnmatched = ({ name, ...place }: Tag): void => {
    if (!wasForgiven(name)) report(place, `unexpected end tag </${name}>`);
  };

  /** Its start tag may have been left out, but not after another was written. */
  const endHead = (tag: Tag): void => {
    if (open.isOpen('head')) closeDownTo(tag);
    else if (seen.has('head') || seen.has('body')) reportUnmatched(tag);
  };

  /** The start tags of these three may be left out, so the first end tag always has something to end. */
  const endOnce = (tag: Tag): void => {
    if (ended.has(tag.name)) reportUnmatched(tag);
    else if (tag.name === 'head') endHead(tag);
    else closeAllDownTo(tag.name);
    ended.add(tag.name);
  };

  /** The parser ignores these, or makes an empty paragraph or line break of them. */
  const isAcceptedStray = ({ name }: Tag): boolean =>
    VOID_ELEMENTS.has(name) || (name === 'p' && !open.hasParagraphInScope());

  const endTag = (tag: Tag): void => {
    if (isAcceptedStray(tag)) return;
    if (ONCE.has(tag.name)) endOnce(tag);
    else if (open.isOpen(tag.name)) closeDownTo(tag);
    else reportUnmatched(tag);
  };

  return { startTag, endTag, endOfInput: (): void => closeAllDownTo(''), isInForeign };
};
