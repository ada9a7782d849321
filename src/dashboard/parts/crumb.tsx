import type { ComponentChildren, JSX } from 'preact';
import { linkTo } from '../data/location.ts';
import { Icon } from './icons.tsx';

interface CrumbProps {
  /** Path of the list. */
  readonly path: string;
  readonly word: string;
  readonly id: string;
  /** Links to neighbouring items, shown at the end. */
  readonly children?: ComponentChildren;
}

/** Links an item back to its list. */
export const Crumb = ({ path, word, id, children }: CrumbProps): JSX.Element => (
  <div class="crumb">
    <a href={linkTo(path)}>{word}</a>
    <Icon name="right" />
    <code class="ell">{id}</code>
    {children}
  </div>
);
