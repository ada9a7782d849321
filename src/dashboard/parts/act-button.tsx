import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAsOf } from '../data/as-of.ts';
import { client } from '../data/queries.ts';
import { Icon } from './icons.tsx';
import type { IconName } from './shapes.ts';

interface ActButtonProps {
  readonly word: string;
  readonly icon: IconName;
  readonly isSmall?: boolean;
  act(): Promise<unknown>;
}

/**
 * A button for an action that needs no confirmation. Afterwards all visible data is reloaded; an error shows on the
 * button. Disabled on a screen of the past.
 */
export const ActButton = ({ word, icon, isSmall = false, act }: ActButtonProps): JSX.Element => {
  const isPast = useAsOf() !== null;
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const begin = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      setRefusal(null);
      await client.invalidateQueries();
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {refusal !== null && (
        <span class="problem" role="alert">
          {refusal}
        </span>
      )}
      <button
        type="button"
        class={`btn ${isSmall ? 'small' : ''}`}
        disabled={isBusy || isPast}
        onClick={() => void begin()}
      >
        <Icon name={icon} />
        {word}
      </button>
    </>
  );
};
