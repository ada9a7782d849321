import type { ElementKind } from './element-kinds.ts';

export interface OpenElement {
  readonly name: string;
  /** Of its start tag's `<`, from the beginning of the text. */
  readonly offset: number;
  /** Written `<div/>`, which does not close it. */
  readonly selfClosing: boolean;
  readonly depth: number;
  /** Name and depth of the nearest scope boundary (§13.2.4.2): this element or one around it. */
  readonly scopeName: string;
  readonly scopeDepth: number;
  /** Its children are SVG or MathML, not HTML. */
  readonly isForeign: boolean;
  /** A problem reported already explains why its end tag is missing. */
  excused: boolean;
}

/** Around everything, and never closed. */
const DOCUMENT: OpenElement = {
  name: '',
  offset: 0,
  selfClosing: false,
  depth: 0,
  scopeName: '',
  scopeDepth: 0,
  isForeign: false,
  excused: true,
};

/**
 * The stack of open elements. Every question costs the same however deep it is: a megabyte of start tags followed by
 * a megabyte of end tags stays linear.
 */
export const createOpenElements = () => {
  const stack: OpenElement[] = [];
  const byName = new Map<string, OpenElement[]>();
  let top = DOCUMENT;

  const innermost = (name: string): OpenElement | undefined => byName.get(name)?.at(-1);

  const namesakesOf = (name: string): OpenElement[] => {
    const known = byName.get(name);
    if (known !== undefined) return known;
    const namesakes: OpenElement[] = [];
    byName.set(name, namesakes);
    return namesakes;
  };

  const push = (kind: ElementKind, offset: number, selfClosing: boolean): void => {
    const { name, isScopeBoundary, isForeignRoot, isHtmlInForeign } = kind;
    const depth = top.depth + 1;
    top = {
      name,
      offset,
      selfClosing,
      depth,
      scopeName: isScopeBoundary ? name : top.scopeName,
      scopeDepth: isScopeBoundary ? depth : top.scopeDepth,
      isForeign: isForeignRoot || (top.isForeign && !isHtmlInForeign),
      excused: false,
    };
    stack.push(top);
    namesakesOf(name).push(top);
  };

  const pop = (): OpenElement | undefined => {
    const element = stack.pop();
    if (element === undefined) return undefined;
    byName.get(element.name)?.pop();
    top = stack.at(-1) ?? DOCUMENT;
    return element;
  };

  /** The innermost one of that name, unless a scope boundary is between. */
  const inScope = (name: string): OpenElement | undefined => {
    const element = innermost(name);
    return element !== undefined && element.depth >= top.scopeDepth ? element : undefined;
  };

  return {
    push,
    pop,
    /** The innermost of all; around everything is one without a name. */
    top: (): OpenElement => top,
    innermost,
    inScope,
  };
};

export type OpenElements = ReturnType<typeof createOpenElements>;
