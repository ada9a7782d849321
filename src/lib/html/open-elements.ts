import { type ElementKind, HEADINGS } from './elements.ts';

export interface OpenElement<Data> {
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
export const createOpenElements = <Data>(root: Data) => {
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

export type OpenElements<Data> = ReturnType<typeof createOpenElements<Data>>;

/**
 * The open element that cannot contain an element of that kind: the parser ends it (§13.2.6.4.7, §13.2.6.4.9,
 * §13.2.6.5), or drops the inner tag (`form`).
 */
export const conflictOf = <Data>(
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
