import { HTML_DEPTH_MAX } from '../../domain/ports/html-checker.ts';
import { conflictOf } from './conflicts.ts';
import { type ElementKind, kindOf } from './element-kinds.ts';
import { HEADINGS, ONCE, OPTIONAL_END, PARAGRAPH_END_REQUIRED_IN, VOID_ELEMENTS } from './elements.ts';
import { createOpenElements, type OpenElement } from './open-elements.ts';
import { type Report, shown } from './problem-list.ts';

/**
 * Follows start and end tags as an author means them: like the standard's parser where it lets end tags be left out,
 * but without its repairs, which are what is to be reported. A repair is reported once, not again for every tag that
 * it upsets. Offsets are those of the tags' `<`.
 */
export const createNesting = (report: Report) => {
  const open = createOpenElements();
  let isTooDeep = false;
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

  const needsEndTag = ({ name, excused }: OpenElement): boolean =>
    !(excused || OPTIONAL_END.has(name)) || (name === 'p' && PARAGRAPH_END_REQUIRED_IN.has(open.top().name));

  const reportUnclosed = ({ name, offset, selfClosing }: OpenElement): void =>
    report(offset, `element <${shown(name)}> is not closed${selfClosing ? ' (its "/" does not close it)' : ''}`);

  const reportBlocked = (tag: string, offset: number, blocker: OpenElement): void =>
    report(
      offset,
      (placeOf) => `unexpected ${tag}: <${shown(blocker.name)}> of ${placeOf(blocker.offset)} is still open`,
    );

  const isInForeign = (): boolean => open.top().isForeign;

  const requireOnce = (name: string, offset: number): void => {
    if (seen.has(name)) report(offset, `unexpected start tag <${name}>: there is one already`);
    seen.add(name);
  };

  /** What should not be around it is reported, and stays: its end tag may still come. */
  const requireFit = (kind: ElementKind, offset: number): void => {
    const conflict = conflictOf(open, kind);
    if (conflict === undefined) return;
    reportBlocked(`start tag <${kind.name}>`, offset, conflict);
    conflict.excused = true;
  };

  const endImplied = ({ ends }: ElementKind): void => {
    if (ends === undefined) return;
    while (ends.has(open.top().name)) open.pop();
  };

  const isComplete = ({ name, isVoid, isForeignRoot }: ElementKind, selfClosing: boolean): boolean =>
    isVoid || (selfClosing && (name.includes(':') || isForeignRoot || isInForeign()));

  const startTag = (name: string, offset: number, selfClosing: boolean): void => {
    const kind = kindOf(name);
    if (kind.isOnce) requireOnce(name, offset);
    endImplied(kind);
    requireFit(kind, offset);
    if (isComplete(kind, selfClosing)) return;
    open.push(kind, offset, selfClosing);
    // Reported once: for everything deeper the same would be to be said.
    if (open.top().depth === HTML_DEPTH_MAX + 1 && !isTooDeep) {
      isTooDeep = true;
      report(offset, `elements are nested more than ${HTML_DEPTH_MAX} deep`);
    }
  };

  /** From within a cell it may as well be a stray one: then the right one is still to come. */
  const forgiveUpset = (upset: readonly OpenElement[], name: string): void => {
    for (const element of upset) forgive(element.name);
    if (upset.some((element) => element.name === 'td' || element.name === 'th')) forgive(name);
  };

  /** Ends everything down to the innermost open element of that name. */
  const closeDownTo = (name: string, offset: number): void => {
    const others: OpenElement[] = [];
    let blocker: OpenElement | undefined;
    for (let element = open.pop(); element !== undefined && element.name !== name; element = open.pop()) {
      others.push(element);
      if (needsEndTag(element)) blocker ??= element;
    }
    if (blocker === undefined) return;
    reportBlocked(`end tag </${shown(name)}>`, offset, blocker);
    forgiveUpset(others, name);
  };

  const closeAllDownTo = (name: string): void => {
    for (let element = open.pop(); element !== undefined && element.name !== name; element = open.pop()) {
      if (!needsEndTag(element)) continue;
      reportUnclosed(element);
      forgive(element.name);
    }
  };

  const reportUnmatched = (name: string, offset: number): void => {
    if (!wasForgiven(name)) report(offset, `unexpected end tag </${shown(name)}>`);
  };

  /** `<h1>…</h2>`: the end tag of any heading ends the one that is open. */
  const endOtherHeading = (name: string, offset: number): void => {
    reportBlocked(`end tag </${name}>`, offset, open.top());
    open.pop();
  };

  /** Its start tag may have been left out, but not after another was written. */
  const endHead = (offset: number): void => {
    if (open.innermost('head') !== undefined) closeDownTo('head', offset);
    else if (seen.has('head') || seen.has('body')) reportUnmatched('head', offset);
  };

  /** The start tags of these three may be left out, so the first end tag always has something to end. */
  const endOnce = (name: string, offset: number): void => {
    if (ended.has(name) && open.innermost(name) === undefined) reportUnmatched(name, offset);
    else if (name === 'head') endHead(offset);
    else closeAllDownTo(name);
    ended.add(name);
  };

  /** The parser ignores these, or makes an empty paragraph or line break of them. */
  const isAcceptedStray = (name: string): boolean =>
    VOID_ELEMENTS.has(name) || (name === 'p' && open.inScope('p') === undefined);

  const endUnmatched = (name: string, offset: number): void => {
    if (HEADINGS.has(name) && HEADINGS.has(open.top().name)) endOtherHeading(name, offset);
    else reportUnmatched(name, offset);
  };

  const endOther = (name: string, offset: number): void => {
    if (isAcceptedStray(name)) return;
    if (open.innermost(name) === undefined) endUnmatched(name, offset);
    else closeDownTo(name, offset);
  };

  const endTag = (name: string, offset: number): void => {
    if (ONCE.has(name)) endOnce(name, offset);
    else if (name === open.top().name) open.pop();
    else endOther(name, offset);
  };

  /** `isInText`: text that swallowed the rest of the input swallowed the end tags of what is around it, too. */
  const endOfInput = (isInText: boolean): void => {
    if (isInText) reportUnclosed(open.top());
    else closeAllDownTo('');
  };

  return {
    startTag,
    endTag,
    endOfInput,
    isInForeign,
    forgive,
    /** Name of the innermost open element; empty: none is open. */
    innermost: (): string => open.top().name,
  };
};
