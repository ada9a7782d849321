import type { JSX } from 'preact';
import { linkTo } from '../data/location.ts';
import { Icon } from './icons.tsx';

interface CrumbProps {
  /** Of the list. */
  readonly path: string;
  readonly word: string;
  readonly id: string;
}

/** Leads from a thing back to the list it is in. */
export const Crumb = ({ path, word, id }: CrumbProps): JSX.Element => (
  <div class="crumb">
    <a href={linkTo(path)}>{word}</a>
    <Icon name="right" />
    <code class="ell">{id}</code>
  </div>
);
