import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Query, send } from '../data/api.ts';
import { saveFile } from '../data/download.ts';
import { Icon } from './icons.tsx';
import { Fault } from './states.tsx';

interface DownloadProps {
  readonly word: string;
  readonly path: string;
  readonly query?: Query;
  readonly accept: string;
  /** Name of the saved file. */
  readonly name: string;
  readonly tone?: 'primary' | 'small';
}

/** Saves a response of the API as a file. It is fetched by script because a link cannot send an API key. */
export const Download = ({ word, path, query = {}, accept, name, tone }: DownloadProps): JSX.Element => {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const response = await send(path, { query, headers: { accept } });
      saveFile(name, await response.blob());
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class={`btn ${tone ?? ''}`} disabled={isBusy} onClick={() => void save()}>
        <Icon name="save" />
        {isBusy ? 'Reading' : word}
      </button>
      {error !== null && <Fault error={error} />}
    </>
  );
};
