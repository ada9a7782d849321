import type { JSX } from 'preact';
import { useTimes } from '../data/time.ts';
import type { Outcome } from './action.tsx';
import { CopyButton } from './facts.tsx';

interface NewValueProps {
  readonly value: string;
  /** Name of the secret's owner. */
  readonly name: string;
  /** ISO 8601. The previous value works until then. */
  readonly previousUntil?: string | undefined;
}

/** Displays a secret. It is never shown again. */
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
        Store it now: it is not shown again.
        {previousUntil !== undefined && ` The value before works until ${times.short(previousUntil)}.`}
      </p>
    </>
  );
};

/** Shows the value in the dialog until the user confirms that it is stored. */
export const newValue = (made: NewValueProps): Outcome => ({ shown: <NewValue {...made} />, word: 'It is stored' });
