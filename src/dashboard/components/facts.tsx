import { type ComponentChildren, Fragment, type JSX } from 'preact';
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

/** A row of large numbers. */
export const Figures = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <dl class="figs">{children}</dl>
);

interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  /** CSS class of the colour in plots. */
  readonly plot?: string;
  /** Address of the messages that it counts. */
  readonly href?: string | null;
  /** Context shown next to the number. */
  readonly children?: ComponentChildren;
}

export const Figure = ({ name, value, plot, href, children }: FigureProps): JSX.Element => (
  <div>
    <dt>
      {plot !== undefined && <i class={`sw ${plot}`} />}
      {name}
    </dt>
    <dd>
      {typeof href === 'string' ? (
        <a href={href} title="View these messages">
          {value}
        </a>
      ) : (
        value
      )}
      <small>{children ?? '\u00a0'}</small>
    </dd>
  </div>
);

/** A sentence of the API. Text between backticks is shown as code. */
export const Prose = ({ text }: { readonly text: string }): JSX.Element => (
  <bdi>
    {text.split('`').map((part, at) => (
      <Fragment key={at}>{at % 2 === 1 ? <code>{part}</code> : part}</Fragment>
    ))}
  </bdi>
);

/** A string, with the following colon if it is a name; or a number or literal. */
const TOKEN = /("(?:[^"\\]|\\.)*"(?:\s*:)?|\b(?:-?\d[\d.eE+-]*|true|false|null)\b)/;

const classOf = (token: string): string => {
  if (!token.startsWith('"')) return 'n2';
  return token.endsWith(':') ? 'k' : 's';
};

const indented = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** Formats JSON for reading and shows any other text unchanged. */
export const JsonView = ({ text, label }: { readonly text: string; readonly label: string }): JSX.Element => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
  // biome-ignore lint/a11y/useSemanticElements: the text is shown unchanged
  <pre class="json" tabIndex={0} aria-label={label} role="region">
    {indented(text)
      .split(TOKEN)
      .map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <bdi key={index} class={classOf(part)}>
            {part}
          </bdi>
        ),
      )}
  </pre>
);
