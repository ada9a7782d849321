import { TEXT_ELEMENTS, type TextElement, textElement } from './text-elements.ts';

const NOWHERE = -1;
const TABLES = [textElement('table').id];

export interface OpenTextElement {
  readonly element: TextElement;
  /** It and what is around it are shown. */
  readonly isShown: boolean;
  /** The number of the next item, if it is a list that numbers them. */
  next: number;
  /** Lines of text before it, if it is a row. */
  linesBefore: number;
  /** Where the next one outwards of this name is. */
  readonly sameName: number;
  /** The cell, and the block, that it is in. */
  readonly scope: number;
  readonly block: number;
}

export interface OpenTextElements {
  push(element: TextElement, isHidden: boolean): OpenTextElement;
  /** What its start tag ends without saying so. */
  endImplied(element: TextElement): void;
  /** False for an end tag that ends nothing. */
  end(element: TextElement): boolean;
  endAll(): void;
  /** The innermost of these, if it is open. */
  nearest(ids: readonly number[]): OpenTextElement | undefined;
  isHidden(): boolean;
}

/**
 * The open elements. Each knows where the next of its name, the cell and the block around it are, so nothing is ever
 * searched for: time is linear in the tags, however deep and however wrongly they are nested.
 */
export const createOpenTextElements = (onEnd: (open: OpenTextElement) => void): OpenTextElements => {
  const stack: OpenTextElement[] = [];
  /** By id, where in the stack the innermost is. */
  const last: number[] = new Array(TEXT_ELEMENTS).fill(NOWHERE);
  let scope = NOWHERE;
  let block = NOWHERE;
  let hiddenFrom = Number.POSITIVE_INFINITY;

  const positionOf = (id: number): number => last[id] ?? NOWHERE;

  const innermost = (ids: readonly number[]): number => {
    let position = NOWHERE;
    for (const id of ids) position = Math.max(position, positionOf(id));
    return position;
  };

  const pop = (): void => {
    const open = stack.pop();
    if (open === undefined) return;
    last[open.element.id] = open.sameName;
    ({ scope, block } = open);
    if (stack.length <= hiddenFrom) hiddenFrom = Number.POSITIVE_INFINITY;
    onEnd(open);
  };

  /** End tags look no further out than here. */
  const limitOf = ({ isTablePart, isBlock }: TextElement): number => {
    if (isTablePart) return innermost(TABLES);
    return isBlock ? scope : Math.max(scope, block);
  };

  const popTo = (position: number): void => {
    while (stack.length > position) pop();
  };

  return {
    push: (element, isHidden) => {
      const position = stack.length;
      if (isHidden) hiddenFrom = Math.min(hiddenFrom, position);
      const isShown = position < hiddenFrom;
      const open = { element, isShown, next: 1, linesBefore: 0, sameName: positionOf(element.id), scope, block };
      stack.push(open);
      last[element.id] = position;
      if (element.isScope) scope = position;
      if (element.isBlock) block = position;
      return open;
    },
    endImplied: ({ ends, within }) => {
      if (ends.length === 0) return;
      const from = innermost(within);
      for (const id of ends) if (positionOf(id) > from) popTo(positionOf(id));
    },
    end: (element) => {
      const position = positionOf(element.id);
      if (position === NOWHERE || position < limitOf(element)) return false;
      popTo(position);
      return true;
    },
    endAll: () => popTo(0),
    nearest: (names) => stack[innermost(names)],
    isHidden: () => hiddenFrom < stack.length,
  };
};
