import type { JSX } from 'preact';

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
