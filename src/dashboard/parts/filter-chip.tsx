import type { JSX } from 'preact';
import { navigate, withParameters } from '../data/location.ts';
import { Icon } from './icons.tsx';

interface FilterChipProps {
  /** Of the parameter in the address. */
  readonly name: string;
  /** What it is called. */
  readonly word: string;
  readonly value: string;
  /** What removing it is called. */
  readonly removed: string;
}

/** A filter in the address of the screen, with a button that takes it out. */
export const FilterChip = ({ name, word, value, removed }: FilterChipProps): JSX.Element => (
  <span class="chip">
    <span>{word}</span> <bdi class="value">{value}</bdi>
    <button type="button" aria-label={`Remove ${removed}`} onClick={() => navigate(withParameters({ [name]: null }))}>
      <Icon name="cross" />
    </button>
  </span>
);
