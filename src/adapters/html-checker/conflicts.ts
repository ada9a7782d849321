import type { ElementKind } from './element-kinds.ts';
import { HEADINGS } from './elements.ts';
import type { OpenElement, OpenElements } from './open-elements.ts';

type FindConflict = (open: OpenElements, name: string) => OpenElement | undefined;

const sameInScope: FindConflict = (open, name) => open.inScope(name);
const same: FindConflict = (open, name) => open.innermost(name);
const headingAround: FindConflict = (open) => (HEADINGS.has(open.top().name) ? open.top() : undefined);
/** A table in a table stands in a cell. */
const tableAround: FindConflict = (open) => (open.top().scopeName === 'table' ? open.innermost('table') : undefined);

const CONFLICTS: ReadonlyMap<string, FindConflict> = new Map([
  ['a', sameInScope],
  ['button', sameInScope],
  ['nobr', sameInScope],
  ['form', same],
  ['table', tableAround],
  ...[...HEADINGS].map((name) => [name, headingAround] as const),
]);

/**
 * The open element that the parser does not leave around an element of that name: it ends it (§13.2.6.4.7, §13.2.6.4.9,
 * §13.2.6.5), or drops the inner tag (`form`).
 */
export const conflictOf = (open: OpenElements, { name, isForeignBreakout }: ElementKind): OpenElement | undefined => {
  const top = open.top();
  return top.isForeign && isForeignBreakout ? top : CONFLICTS.get(name)?.(open, name);
};
