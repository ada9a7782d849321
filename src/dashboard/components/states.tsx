import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiFault } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo } from '../data/location.ts';
import { unread } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { useAsOf } from './as-of.tsx';
import { Icon, type IconName, Mark, type State, type Tone } from './icons.tsx';

/** States of a screen: loading, empty and failed. */

/** Shows nothing during shorter waits, to avoid flicker. */
const SKELETON_AFTER_MS = 200;

const WIDTHS = [
  ['64%', '76%', '56%'],
  ['80%', '92%', '72%'],
  ['52%', '64%', '44%'],
  ['70%', '58%', '80%'],
];

/** Placeholder rows in the shape of the expected content. */
export const Skeleton = ({ rows = 8 }: { readonly rows?: number }): JSX.Element | null => {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div class="list" role="status">
      <span class="vh">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div class="sk cells line" key={index} aria-hidden="true">
          {WIDTHS[index % WIDTHS.length]?.map((width) => (
            <i key={width} style={{ width }} />
          ))}
          <i />
        </div>
      ))}
    </div>
  );
};

/** Stands for a whole screen while it loads. @param title title of the screen. */
export const ScreenSkeleton = ({ title }: { readonly title: string }): JSX.Element => (
  <>
    <div class="head">
      <h1>{title}</h1>
    </div>
    <Skeleton />
  </>
);

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}

/** Explains what would be here, or what would match. */
export const Empty = ({ icon, title, children, actions }: EmptyProps): JSX.Element => (
  <div class="card empty">
    <span class="ic">
      <Icon name={icon} />
    </span>
    <b class="b">{title}</b>
    <p>{children}</p>
    {actions !== undefined && <div class="choices wrap">{actions}</div>}
  </div>
);

interface NoticeProps {
  readonly tone: Tone;
  readonly state: State;
  readonly children: ComponentChildren;
}

export const Notice = ({ tone, state, children }: NoticeProps): JSX.Element => (
  <div class={`note ${tone}`} role="status">
    <Mark state={state} />
    <span>{children}</span>
  </div>
);

/** Adds a capital and a full stop, which the API's messages lack. */
export const sentenceOf = (message: string): string => {
  const [first = '', ...rest] = message;
  return `${first.toUpperCase()}${rest.join('').replace(/\.$/, '')}.`;
};

interface Words {
  readonly title: string;
  readonly text: string;
}

const refusalOf = (error: ApiFault): Words => ({
  title: session.get() ? 'Your role does not allow this.' : 'This key does not have access.',
  text: sentenceOf(error.message),
});

interface Setting {
  /** null: the screen shows the present. */
  readonly at: string | null;
  /** Title of a refusal. */
  readonly refused: string | undefined;
}

const wordsFor = (error: Error, { at, refused = 'The request was refused.' }: Setting): Words => {
  if (!(error instanceof ApiFault)) return { title: 'This could not be displayed.', text: error.message };
  if (error.code === 'permission_missing') return refusalOf(error);
  if (error.status === 404 && at !== null) return { title: 'This did not exist yet.', text: 'It was created later.' };
  if (error.status === 404) return { title: 'Not found.', text: 'It may be in the other environment, or deleted.' };
  if (error.isTransient)
    return { title: 'This could not be loaded.', text: `${sentenceOf(error.message)} No data is lost.` };
  const problems = Object.values(error.details).flat();
  return { title: refused, text: problems.length > 0 ? problems.join('; ') : error.message };
};

/** Id of the failed request. A rejection links to its entry under Requests. */
const RequestId = ({ error, isListed }: { readonly error: ApiFault; readonly isListed: boolean }): JSX.Element => {
  const id = <code class="muted">{error.requestId}</code>;
  if (!isListed || error.isTransient || error.status === 401 || error.status === 404) return id;
  return <a href={linkTo('/requests', { request: error.requestId })}>{id}</a>;
};

/** Countdown to the next automatic retry. */
const Again = (): JSX.Element | null => {
  const { againAt } = useStore(unread);
  const [, tick] = useState({});
  useEffect(() => {
    const timer = setInterval(() => tick({}), 1_000);
    return () => clearInterval(timer);
  }, []);
  if (againAt === null) return null;
  // Hidden from screen readers, which would read it every second.
  return <span aria-hidden="true">Retrying in {Math.max(1, Math.ceil((againAt - Date.now()) / 1_000))} s. </span>;
};

interface FaultProps {
  readonly error: Error;
  /** Absent if a retry cannot help. */
  readonly retry?: () => void;
  /** Title of a refusal that the screen expects. Such refusals are not listed under Requests. */
  readonly expected?: string;
}

/** A fault names its request, says whether anything was lost and offers a retry. A rejection says what is missing. */
export const Fault = ({ error, retry, expected }: FaultProps): JSX.Element => {
  const { title, text } = wordsFor(error, { at: useAsOf(), refused: expected });
  const isTransient = !(error instanceof ApiFault) || error.isTransient;
  return (
    <div class={`note ${isTransient ? 'bad' : 'mute'}`} role="alert">
      <Mark state={isTransient ? 'fault' : 'suppressed'} />
      <span>
        <b>{title}</b> <bdi>{text}</bdi> {isTransient && retry !== undefined && <Again />}
        {error instanceof ApiFault && error.requestId !== null && (
          <RequestId error={error} isListed={expected === undefined} />
        )}{' '}
        {error instanceof ApiFault &&
          Object.values(error.details)
            .flat()
            .filter((sentence) => !text.includes(sentence))
            .map((sentence) => (
              <bdi class="detail" key={sentence}>
                {sentence}
              </bdi>
            ))}
        {isTransient && retry !== undefined && (
          <button type="button" class="lnk" onClick={retry}>
            Try now
          </button>
        )}
      </span>
    </div>
  );
};

/** Replaces a whole screen and keeps its heading. @param title title of the screen. */
export const ScreenFault = ({ title, ...fault }: FaultProps & { readonly title: string }): JSX.Element => (
  <>
    <div class="head">
      <h1>{title}</h1>
    </div>
    <Fault {...fault} />
  </>
);
