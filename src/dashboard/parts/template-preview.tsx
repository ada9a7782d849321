import type { JSX } from 'preact';
import { usePlace, withParameters } from '../data/location.ts';
import type { Rendering } from '../data/template-draft.ts';
import { Status } from './icons.tsx';
import { Fault } from './states.tsx';

/**
 * What a message would say. Its html is shown as text: a document of the mail's own would need an address that the
 * browser can ask for without a key.
 */

const VIEWS = { text: 'Text', source: 'Source' } as const;
type View = keyof typeof VIEWS;

const VERDICTS = { pass: 'active', warn: 'warning', fail: 'fault' } as const;

export const TemplatePreview = ({ rendered, error }: Rendering): JSX.Element => {
  const { query } = usePlace();
  const view: View = query.get('view') === 'source' ? 'source' : 'text';
  return (
    <>
      <div class="phead">
        <nav class="seg" aria-label="Preview">
          {Object.entries(VIEWS).map(([name, word]) => (
            <a
              key={name}
              href={withParameters({ view: name === 'text' ? null : name })}
              {...(name === view && { 'aria-current': 'true' })}
            >
              {word}
            </a>
          ))}
        </nav>
        <span class="sp" />
        {rendered !== null && (
          <span title="Score of the analysis">
            <Status state={VERDICTS[rendered.analysis.verdict]} word={`${rendered.analysis.score} of 100`} />
          </span>
        )}
      </div>
      <div class={`desk ${error === null ? '' : 'dim'}`}>
        {rendered === null && error !== null && <Fault error={error} />}
        {rendered !== null && (
          <article class="letter" aria-label="What a message would say">
            <h2>
              <bdi>{rendered.subject}</bdi>
            </h2>
            {rendered.from !== null && (
              <p class="sender">
                <bdi>{rendered.from}</bdi>
              </p>
            )}
            <pre class={view}>
              <bdi>{view === 'source' ? rendered.html : (rendered.text ?? 'It says nothing in words.')}</bdi>
            </pre>
          </article>
        )}
      </div>
    </>
  );
};
