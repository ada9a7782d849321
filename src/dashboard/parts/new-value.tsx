import type { JSX } from 'preact';
import { useTimes } from '../data/time.ts';
import type { Outcome } from './action.tsx';
import { CopyButton } from './facts.tsx';

interface NewValueProps {
  readonly value: string;
  /** What it is the secret of. */
  readonly name: string;
  /** ISO 8601: how long the value before works. */
  readonly previousUntil?: string | undefined;
}

/** A secret, shown this once. */
const NewValue = ({ value, name, previousUntil }: NewValueProps): JSX.Element => {
  const times = useTimes();
  return (
    <>
      <h2>
        <bdi>{name}</bdi> has a new value
      </h2>
      <div class="secret cp">
        <code>{value}</code>
        <CopyButton text={value} label="Copy the value" />
      </div>
      <p class="muted">
        Store it now: nobody can show it again.
        {previousUntil !== undefined && ` The value before works until ${times.short(previousUntil)}.`}
      </p>
    </>
  );
};

/** The dialog then shows the value, until somebody says that it is stored. */
export const newValue = (made: NewValueProps): Outcome => ({ shown: <NewValue {...made} />, word: 'It is stored' });
