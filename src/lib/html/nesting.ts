import { type Report, shownName } from './problems.ts';
import {
  type ElementKind,
  HEADINGS,
  HTML_DEPTH_MAX,
  kindOf,
  ONCE,
  OPTIONAL_END,
  PARAGRAPH_END_REQUIRED_IN,
  type StartTag,
  TABLE_PARTS,
  VOID_ELEMENTS,
} from './tokens.ts';

interface OpenElement<Data> {
  readonly name: string;
  /** Offset of the `<` of its start tag. */
  readonly offset: number;
  /** Written `<div/>`, which does not close it. */
  readonly isSelfClosing: boolean;
  readonly depth: number;
  /** Name and depth of the nearest scope boundary (§13.2.4.2): this element or one around it. */
  readonly scopeName: string;
  readonly scopeDepth: number;
  /** Depth of the nearest table, cell or caption: this element or one around it. */
  readonly cellDepth: number;
  /** Its children are SVG or MathML, not HTML. */
  readonly isForeign: boolean;
  /** A problem reported already explains why its end tag is missing. */
  isExcused: boolean;
  /** Data of the visitor. */
  readonly data: Data;
}

/**
 * The stack of open elements. Every query takes constant time at any depth, so a megabyte of start tags followed by a
 * megabyte of end tags stays linear.
 * @param root the visitor's data outside all elements.
 */
const createOpenElements = <Data>(root: Data) => {
  const document: OpenElement<Data> = {
    name: '',
    offset: 0,
    isSelfClosing: false,
    depth: 0,
    scopeName: '',
    scopeDepth: 0,
    cellDepth: 0,
    isForeign: false,
    isExcused: true,
    data: root,
  };
  const stack: OpenElement<Data>[] = [];
  const byName = new Map<string, OpenElement<Data>[]>();
  let top = document;
  let depthMax = 0;

  const innermost = (name: string): OpenElement<Data> | undefined => byName.get(name)?.at(-1);

  const index = (element: OpenElement<Data>): void => {
    const sameName = byName.get(element.name);
    if (sameName === undefined) byName.set(element.name, [element]);
    else sameName.push(element);
  };

  return {
    push: (kind: ElementKind, offset: number, isSelfClosing: boolean, data: Data): void => {
      const { name, isScopeBoundary, isCellBoundary, isForeignRoot, isHtmlInForeign } = kind;
      const depth = top.depth + 1;
      top = {
        name,
        offset,
        isSelfClosing,
        depth,
        scopeName: isScopeBoundary ? name : top.scopeName,
        scopeDepth: isScopeBoundary ? depth : top.scopeDepth,
        cellDepth: isCellBoundary ? depth : top.cellDepth,
        isForeign: isForeignRoot || (top.isForeign && !isHtmlInForeign),
        isExcused: false,
        data,
      };
      depthMax = Math.max(depthMax, depth);
      stack.push(top);
      index(top);
    },
    pop: (): OpenElement<Data> | undefined => {
      const element = stack.pop();
      if (element === undefined) return undefined;
      byName.get(element.name)?.pop();
      top = stack.at(-1) ?? document;
      return element;
    },
    /** The innermost element. Outside all elements, a nameless one that never closes. */
    top: (): OpenElement<Data> => top,
    innermost,
    /** The innermost element of that name, unless a scope boundary is between. */
    inScope: (name: string): OpenElement<Data> | undefined => {
      const element = innermost(name);
      return element !== undefined && element.depth >= top.scopeDepth ? element : undefined;
    },
    /** The elements inside the one at that depth, the innermost first. */
    inside: (depth: number, countMax: number): readonly OpenElement<Data>[] =>
      stack.slice(Math.max(depth, stack.length - countMax)).reverse(),
    depthMax: (): number => depthMax,
  };
};

type OpenElements<Data> = ReturnType<typeof createOpenElements<Data>>;

/**
 * The open element that cannot contain an element of that kind: the parser ends it (§13.2.6.4.7, §13.2.6.4.9,
 * §13.2.6.5), or drops the inner tag (`form`).
 */
const conflictOf = <Data>(
  open: OpenElements<Data>,
  { name, isForeignBreakout }: ElementKind,
): OpenElement<Data> | undefined => {
  const top = open.top();
  if (top.isForeign && isForeignBreakout) return top;
  if (HEADINGS.has(name)) return HEADINGS.has(top.name) ? top : undefined;
  switch (name) {
    case 'a':
    case 'button':
    case 'nobr':
      return open.inScope(name);
    case 'form':
      return open.innermost(name);
    // A table may be nested only inside a cell.
    case 'table':
      return top.scopeName === 'table' ? open.innermost('table') : undefined;
    default:
      return undefined;
  }
};

/** Follows the elements. The data it returns for an element is passed on to the elements inside. */
export interface ElementVisitor<Data> {
  /** Data outside all elements. */
  readonly root: Data;
  /**
   * A start tag, called after the elements that it ends have ended.
   * @param outer data of the element around it.
   * @param isOpened false: it is void or closed itself, and no end follows.
   */
  start(tag: StartTag, outer: Data, isOpened: boolean): Data;
  /** An element ends, by its end tag or otherwise. */
  end(data: Data, outer: Data): void;
  /** An end tag without an open element. */
  strayEnd(name: string, outer: Data): void;
}

/**
 * Follows start and end tags the way an author means them: like the standard's parser where end tags may be omitted,
 * but without its repairs, which are reported. A repair is reported once, not again for every tag that it affects.
 * Offsets are those of the tags' `<`.
 */
export const createNesting = <Data>(report: Report, visitor: ElementVisitor<Data>) => {
  const open = createOpenElements(visitor.root);
  let isTooDeep = false;
  const started = new Set<string>();
  const ended = new Set<string>();
  /** End tags, by name, still expected for elements that a reported tag ended. */
  const forgivenEnds = new Map<string, number>();
  /** Elements, by name, whose end tag was reported because it could not end them there. */
  const excusedElements = new Map<string, number>();

  const add = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

  const takeOne = (counts: Map<string, number>, name: string): boolean => {
    const left = counts.get(name) ?? 0;
    if (left > 0) counts.set(name, left - 1);
    return left > 0;
  };

  const forgive = (name: string): void => add(forgivenEnds, name);

  const pop = (): OpenElement<Data> | undefined => {
    const element = open.pop();
    if (element !== undefined) visitor.end(element.data, open.top().data);
    return element;
  };

  /** Ends the innermost element. Undefined: it has that name, or no element is open. */
  const popBefore = (name: string): OpenElement<Data> | undefined => {
    const element = pop();
    return element?.name === name ? undefined : element;
  };

  const needsEndTag = ({ name, isExcused }: OpenElement<Data>): boolean =>
    !(isExcused || OPTIONAL_END.has(name)) || (name === 'p' && PARAGRAPH_END_REQUIRED_IN.has(open.top().name));

  const reportUnclosed = ({ name, offset, isSelfClosing }: OpenElement<Data>): void =>
    report(offset, `element <${shownName(name)}> is not closed${isSelfClosing ? ' (its "/" does not close it)' : ''}`);

  const reportBlocked = (tag: string, offset: number, blocker: OpenElement<Data>): void =>
    report(
      offset,
      (placeOf) => `unexpected ${tag}: <${shownName(blocker.name)}> of ${placeOf(blocker.offset)} is still open`,
    );

  const isInForeign = (): boolean => open.top().isForeign;

  const requireOnce = (name: string, offset: number): void => {
    if (started.has(name)) report(offset, `unexpected start tag <${name}>: there is one already`);
    started.add(name);
  };

  /** Reports an element that must not contain this one, but keeps it open: its end tag may still come. */
  const requireFit = (kind: ElementKind, offset: number): void => {
    const conflict = conflictOf(open, kind);
    if (conflict === undefined) return;
    reportBlocked(`start tag <${kind.name}>`, offset, conflict);
    conflict.isExcused = true;
  };

  const endImplied = ({ ends }: ElementKind): void => {
    if (ends === undefined) return;
    while (ends.has(open.top().name)) pop();
  };

  const isComplete = ({ name, isVoid, isForeignRoot }: ElementKind, isSelfClosing: boolean): boolean =>
    isVoid || (isSelfClosing && (name.includes(':') || isForeignRoot || isInForeign()));

  const startTag = (tag: StartTag): void => {
    const { name, offset, isSelfClosing } = tag;
    const kind = kindOf(name);
    if (kind.isOnce) requireOnce(name, offset);
    endImplied(kind);
    requireFit(kind, offset);
    const isOpened = !isComplete(kind, isSelfClosing);
    const data = visitor.start(tag, open.top().data, isOpened);
    if (!isOpened) return;
    open.push(kind, offset, isSelfClosing, data);
    // Reported once, since it applies to everything deeper.
    if (open.top().depth === HTML_DEPTH_MAX + 1 && !isTooDeep) {
      isTooDeep = true;
      report(offset, `elements are nested more than ${HTML_DEPTH_MAX} deep`);
    }
  };

  const reportCrossed = (
    name: string,
    offset: number,
    blocker: OpenElement<Data>,
    others: OpenElement<Data>[],
  ): void => {
    reportBlocked(`end tag </${shownName(name)}>`, offset, blocker);
    for (const element of others) forgive(element.name);
  };

  /** Ends everything down to the innermost open element of that name. */
  const closeDownTo = (name: string, offset: number): void => {
    const others: OpenElement<Data>[] = [];
    let blocker: OpenElement<Data> | undefined;
    for (let element = popBefore(name); element !== undefined; element = popBefore(name)) {
      others.push(element);
      blocker ??= needsEndTag(element) ? element : undefined;
    }
    if (blocker !== undefined) reportCrossed(name, offset, blocker, others);
  };

  const closeAllDownTo = (name: string): void => {
    for (let element = popBefore(name); element !== undefined; element = popBefore(name)) {
      if (!needsEndTag(element) || takeOne(excusedElements, element.name)) continue;
      reportUnclosed(element);
      forgive(element.name);
    }
  };

  const endStray = (name: string): void => visitor.strayEnd(name, open.top().data);

  const reportStray = (name: string, offset: number): void => {
    if (!takeOne(forgivenEnds, name)) report(offset, `unexpected end tag </${shownName(name)}>`);
    endStray(name);
  };

  /** Inside a cell, the parser ignores an end tag for an element outside it. @returns true in that case. */
  const isBlockedByCell = (element: OpenElement<Data>, offset: number): boolean => {
    const { name, depth } = element;
    if (TABLE_PARTS.has(name) || depth >= open.top().cellDepth) return false;
    const inside = open.inside(depth, HTML_DEPTH_MAX);
    const blocker = inside.find((each) => !(each.isExcused || OPTIONAL_END.has(each.name)));
    if (blocker === undefined) return false;
    reportBlocked(`end tag </${shownName(name)}>`, offset, blocker);
    for (const each of inside) each.isExcused = true;
    add(excusedElements, name);
    endStray(name);
    return true;
  };

  /** `<h1>…</h2>`: the end tag of any heading ends the open one. */
  const endOtherHeading = (name: string, offset: number): void => {
    reportBlocked(`end tag </${name}>`, offset, open.top());
    pop();
  };

  /** The start tag of `head` may be omitted, but not after another was written. */
  const endHead = (offset: number): void => {
    if (open.innermost('head') !== undefined) closeDownTo('head', offset);
    else if (started.has('head') || started.has('body')) reportStray('head', offset);
  };

  /** The start tags of these three elements may be omitted, so the first end tag always has something to end. */
  const endOnce = (name: string, offset: number): void => {
    if (ended.has(name) && open.innermost(name) === undefined) reportStray(name, offset);
    else if (name === 'head') endHead(offset);
    else closeAllDownTo(name);
    ended.add(name);
  };

  /** The parser ignores these, or turns them into an empty paragraph or line break. */
  const isAcceptedStray = (name: string): boolean =>
    VOID_ELEMENTS.has(name) || (name === 'p' && open.inScope('p') === undefined);

  const endUnmatched = (name: string, offset: number): void => {
    if (HEADINGS.has(name) && HEADINGS.has(open.top().name)) endOtherHeading(name, offset);
    else reportStray(name, offset);
  };

  const endOther = (name: string, offset: number): void => {
    const element = open.innermost(name);
    if (isAcceptedStray(name)) endStray(name);
    else if (element === undefined) endUnmatched(name, offset);
    else if (!isBlockedByCell(element, offset)) closeDownTo(name, offset);
  };

  return {
    startTag,
    endTag: (name: string, offset: number): void => {
      if (ONCE.has(name)) endOnce(name, offset);
      else if (name === open.top().name) pop();
      else endOther(name, offset);
    },
    /** Text that swallowed the rest of the input also swallowed the end tags of the elements around it. */
    endOfInput: (_offset: number, isInText: boolean): void => {
      if (isInText) reportUnclosed(open.top());
      else closeAllDownTo('');
    },
    isInForeign,
    forgive,
    innermost: (): string => open.top().name,
    outer: (): Data => open.top().data,
    depth: open.depthMax,
  };
};
