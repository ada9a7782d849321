import type { JSX } from 'preact';
import type { SerializedRendering } from '../../http/schemas/template.ts';
import { urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { usePlace, withParameters } from '../data/location.ts';
import { useStore } from '../data/store.ts';
import type { Rendering } from '../data/template-draft.ts';
import { Status } from './icons.tsx';
import { LooksChoice, MailFrame, useLooks } from './mail-frame.tsx';
import { Fault } from './states.tsx';

/** Preview of a message: as rendered, which needs a member's session, as text and as HTML source. */

const VIEWS = { page: 'Page', text: 'Text', source: 'Source' } as const;
type View = keyof typeof VIEWS;

const VERDICTS = { pass: 'active', warn: 'warning', fail: 'fault' } as const;

interface Views {
  readonly view: View;
  /** View to show if the URL names none. */
  readonly initial: View;
  readonly all: readonly View[];
}

/** A tab with only an API key cannot show the rendered mail: the browser requests it without the key. */
const useViews = (): Views => {
  const asked = usePlace().query.get('view');
  const all: readonly View[] = useStore(session) ? ['page', 'text', 'source'] : ['text', 'source'];
  const initial = all[0] ?? 'text';
  return { view: all.find((name) => name === asked) ?? initial, initial, all };
};

interface HeadProps {
  readonly rendered: SerializedRendering;
  readonly views: Views;
}

/** The message as an inbox lists it. */
const AsListed = ({ rendered, views: { view, initial, all } }: HeadProps): JSX.Element => (
  <div class="asread">
    <div>
      <h2>
        <bdi>{rendered.subject}</bdi>
      </h2>
      {rendered.from !== null && (
        <p class="muted">
          <bdi>{rendered.from}</bdi>
        </p>
      )}
    </div>
    <nav class="seg" aria-label="Preview">
      {all.map((name) => (
        <a
          key={name}
          href={withParameters({ view: name === initial ? null : name })}
          {...(name === view && { 'aria-current': 'true' })}
        >
          {VIEWS[name]}
        </a>
      ))}
    </nav>
  </div>
);

const Letter = ({ rendered, view }: { readonly rendered: SerializedRendering; readonly view: View }): JSX.Element => (
  <article class="letter" aria-label="What a message would say">
    <pre class={view}>
      <bdi>{view === 'source' ? rendered.html : (rendered.text ?? 'It says nothing in words.')}</bdi>
    </pre>
  </article>
);

interface Props extends Rendering {
  readonly id: string;
}

export const TemplatePreview = ({ id, rendered, shown, error }: Props): JSX.Element => {
  const looks = useLooks();
  const views = useViews();
  const { view } = views;
  if (rendered === null || shown === null) return <div class="desk">{error !== null && <Fault error={error} />}</div>;
  const { score, verdict } = rendered.analysis;
  return (
    <>
      <div class="phead">
        {view === 'page' && <LooksChoice looks={looks} />}
        {!views.all.includes('page') && <span class="muted">How it looks is shown to members who are signed in.</span>}
        <span class="sp" />
        <span title="Score of the analysis">
          <Status state={VERDICTS[verdict]} word={`${score} of 100`} />
        </span>
      </div>
      <AsListed rendered={rendered} views={views} />
      <div class={`desk ${error === null ? '' : 'dim'}`}>
        {view === 'page' ? (
          <MailFrame
            source={urlOf(`/v1/templates/${id}/preview`, shown.asked)}
            revision={shown.revision}
            looks={looks}
            title="What a message would look like"
          />
        ) : (
          <Letter rendered={rendered} view={view} />
        )}
      </div>
    </>
  );
};
