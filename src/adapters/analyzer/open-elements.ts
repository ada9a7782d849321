import { ENDED_BY_START, FOREIGN_ROOTS } from '../html-checker/elements.ts';
import type { Visibility } from './visibility.ts';

/** How text in an element is read: by people, by programs (titles), or as something else than text (styles). */
export type TextKind = 'body' | 'unseen' | 'raw';

export interface OpenElement {
  readonly name: string;
  readonly visibility: Visibility;
  readonly kind: TextKind;
}

/** Deeper elements are counted, not kept: no reader shows them, and memory stays bounded. */
const KEPT_MAX = 1_000;

/**
 * The elements around a place, roughly as a parser has them. Each end tag costs as much as the elements that it ends,
 * so that all of them together are linear.
 */
export const createOpenElements = (root: OpenElement) => {
  const stack: OpenElement[] = [root];
  const counts = new Map<string, number>();
  let deeper = 0;
  let depth = 0;

  const isOpen = (name: string): boolean => (counts.get(name) ?? 0) > 0;
  const top = (): OpenElement => stack.at(-1) ?? root;

  const pop = (): string => {
    const { name } = stack.pop() ?? root;
    counts.set(name, (counts.get(name) ?? 1) - 1);
    return name;
  };

  return {
    top,
    isInForeign: (): boolean => [...FOREIGN_ROOTS].some(isOpen),
    /** The deepest there was. */
    depth: (): number => depth,
    endImplied: (name: string): void => {
      const endable = ENDED_BY_START.get(name);
      while (deeper === 0 && endable?.has(top().name)) pop();
    },
    push: (element: OpenElement): void => {
      if (stack.length > KEPT_MAX) {
        deeper += 1;
      } else {
        stack.push(element);
        counts.set(element.name, (counts.get(element.name) ?? 0) + 1);
      }
      depth = Math.max(depth, stack.length - 1 + deeper);
    },
    end: (name: string): void => {
      if (deeper > 0) deeper -= 1;
      else if (isOpen(name)) while (pop() !== name);
    },
  };
};
