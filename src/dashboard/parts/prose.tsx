import { Fragment, type JSX } from 'preact';

/** A sentence of the API. Text between backticks is shown as code. */
export const Prose = ({ text }: { readonly text: string }): JSX.Element => (
  <bdi>
    {text.split('`').map((part, at) => (
      <Fragment key={at}>{at % 2 === 1 ? <code>{part}</code> : part}</Fragment>
    ))}
  </bdi>
);
