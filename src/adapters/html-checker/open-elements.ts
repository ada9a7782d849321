import { PARAGRAPH_SCOPE } from './elements.ts';

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface OpenElement extends Place {
  readonly name: string;
  /** Written `<div/>`, which does not close it. */
  readonly selfClosing: boolean;
}

/**
 * The stack of open elements. Every question costs the same however deep it is: a megabyte of start tags followed by
 * a megabyte of end tags stays linear.
 */
export const createOpenElements = () => {
  const stack: OpenElement[] = [];
  /** Beside the stack: whether a paragraph is open in scope as seen from each depth. */
  const paragraphInScope: boolean[] = [];
  const counts = new Map<string, number>();

  const inScopeAfter = (name: string): boolean => {
    if (name === 'p') return true;
    return PARAGRAPH_SCOPE.has(name) ? false : (paragraphInScope.at(-1) ?? false);
  };

  return {
    push: (element: OpenElement): void => {
      paragraphInScope.push(inScopeAfter(element.name));
      stack.push(element);
      counts.set(element.name, (counts.get(element.name) ?? 0) + 1);
    },
    pop: (): OpenElement | undefined => {
      const element = stack.pop();
      if (element !== undefined) {
        paragraphInScope.pop();
        counts.set(element.name, (counts.get(element.name) ?? 1) - 1);
      }
      return element;
    },
    top: (): OpenElement | undefined => stack.at(-1),
    isOpen: (name: string): boolean => (counts.get(name) ?? 0) > 0,
    hasParagraphInScope: (): boolean => paragraphInScope.at(-1) ?? false,
  };
};
