import type { ComponentChildren, JSX } from 'preact';
import { linkTo } from '../data/location.ts';
import { Icon } from './icons.tsx';

interface CrumbProps {
  /** Of the list. */
  readonly path: string;
  readonly word: string;
  readonly id: string;
  /** At its end: what leads to the things beside this one. */
  readonly children?: ComponentChildren;
}

/** Leads from a thing back to the list it is in. */
export const Crumb = ({ path, word, id, children }: CrumbProps): JSX.Element => (
  <div class="crumb">
    <a href={linkTo(path)}>{word}</a>
    <Icon name="right" />
    <code class="ell">{id}</code>
    {children}
  </div>
);
