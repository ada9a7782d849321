import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** A list of names and values. */
export const Facts = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <dl class="facts">{children}</dl>
);

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

export const Fact = ({ name, children }: FactProps): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const COPIED_MS = 1_500;

/** @returns true if the text was copied just now, and a function that copies it. */
const useCopy = (read: () => string): readonly [boolean, () => void] => {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(read()).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return [isCopied, () => void copy()];
};

export const CopyButton = ({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) => {
  const [isCopied, copy] = useCopy(() => text);
  return (
    <button type="button" aria-label={isCopied ? 'Copied' : label} title={label} onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
};

/** A copy button with a text label. */
export const CopyLink = ({ text, word }: { readonly text: string; readonly word: string }): JSX.Element => {
  const [isCopied, copy] = useCopy(() => text);
  return (
    <button type="button" class="lnk" onClick={copy}>
      {isCopied ? 'Copied' : word}
    </button>
  );
};

interface CopyWholeProps {
  readonly text: string;
  readonly word: string;
  /** Omits the border inside a bordered container. */
  readonly isGhost?: true;
}

/** A full-size copy button with a label. */
export const CopyWhole = ({ text, word, isGhost }: CopyWholeProps): JSX.Element => {
  const [isCopied, copy] = useCopy(() => text);
  return (
    <button type="button" class={`btn small ${isGhost ? 'ghost' : ''}`} onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? 'Copied' : word}
    </button>
  );
};

/** Copies the URL of the current screen. */
export const CopyAddress = (): JSX.Element => {
  const [isCopied, copy] = useCopy(() => location.href);
  return (
    <button type="button" class="btn" onClick={copy}>
      <Icon name={isCopied ? 'check' : 'link'} />
      {isCopied ? 'Copied' : 'Copy link'}
    </button>
  );
};

/** A monospace value with a copy button. */
export const CopyField = ({ text, name }: { readonly text: string; readonly name: string }): JSX.Element => (
  <span class="cp">
    <code title={text}>{text}</code>
    <CopyButton text={text} label={`Copy ${name}`} />
  </span>
);
