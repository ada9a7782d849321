import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

const COPIED_MS = 1_500;

/** Copies the address of the screen as it is shown. */
export const CopyLink = (): JSX.Element => {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(location.href).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" class="btn" onClick={() => void copy()}>
      <Icon name={isCopied ? 'check' : 'link'} />
      {isCopied ? 'Copied' : 'Copy link'}
    </button>
  );
};
