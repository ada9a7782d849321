import type { JSX } from 'preact';
import { navigate, withParameters } from '../data/location.ts';
import { Icon } from './icons.tsx';

interface FilterChipProps {
  /** Name of the URL parameter. */
  readonly name: string;
  /** Label of the filter. */
  readonly word: string;
  readonly value: string;
  /** Label of the button that removes the filter. */
  readonly removed: string;
}

/** An active filter with a button that removes it from the URL. */
export const FilterChip = ({ name, word, value, removed }: FilterChipProps): JSX.Element => (
  <span class="chip">
    <span>{word}</span> <bdi class="value">{value}</bdi>
    <button type="button" aria-label={`Remove ${removed}`} onClick={() => navigate(withParameters({ [name]: null }))}>
      <Icon name="cross" />
    </button>
  </span>
);
