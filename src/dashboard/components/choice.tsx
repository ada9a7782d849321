import type { JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

interface ChoiceProps {
  readonly icon: IconName;
  readonly label: string;
  readonly value: string;
  /** Words by value. */
  readonly options: Readonly<Record<string, string>>;
  choose(value: string): void;
}

/** Options of values that have a word. */
export const wordsOf = (
  values: Readonly<Record<string, { readonly word: string }>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([value, { word }]) => [value, word]));

/** A filter with a few values, in the bar above a list. */
export const Choice = ({ icon, label, value, options, choose }: ChoiceProps): JSX.Element => (
  <label class="btn choice">
    <Icon name={icon} />
    <span class="vh">{label}</span>
    <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {Object.entries(options).map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  </label>
);
