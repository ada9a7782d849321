import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedMessage } from '../../http/schemas/message.ts';
import { request, urlOf } from '../data/api.ts';
import { type Moment, momentsOf, type Past, queryAt, useAsOf } from '../data/as-of.ts';
import { onEvents } from '../data/live.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { type Steps, useTrail } from '../data/message-trail.ts';
import { client, useResource } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { inZone, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { AsOfBar, AsOfButton } from '../parts/as-of-bar.tsx';
import { Crumb } from '../parts/crumb.tsx';
import { Pill } from '../parts/icons.tsx';
import { Lanes } from '../parts/lanes.tsx';
import { MessageAttachments, MessageHeaders, MessageRaw, MessageText } from '../parts/message-content.tsx';
import { MessageFacts } from '../parts/message-facts.tsx';
import { MessagePreview } from '../parts/message-preview.tsx';
import type { Explanation } from '../parts/peek.tsx';
import { Fault, ScreenFault, Skeleton } from '../parts/states.tsx';
import { Timeline, WebhookSteps } from '../parts/timeline.tsx';

const TABS = {
  timeline: 'Timeline',
  preview: 'Preview',
  text: 'Text',
  headers: 'Headers',
  raw: 'Raw',
  attachments: 'Attachments',
  webhooks: 'Webhooks',
} as const;
type Tab = keyof typeof TABS;

const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'timeline';
};

/** States in which a message can be cancelled. */
const CANCELLABLE: readonly string[] = ['accepted', 'scheduled', 'deferred'];

const CancelButton = ({ message }: { readonly message: SerializedMessage }): JSX.Element | null => {
  const [error, setError] = useState<Error | null>(null);
  const isPast = useAsOf() !== null;
  const waiting = message.recipients.filter(({ status }) => CANCELLABLE.includes(status)).length;
  if (waiting === 0) return null;
  const cancel = async (): Promise<void> => {
    try {
      await request(`/v1/messages/${message.id}/cancel`, { method: 'POST' });
      setError(null);
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
    await client.invalidateQueries();
  };
  return (
    <>
      {error !== null && <Fault error={error} />}
      <button type="button" class="btn danger" disabled={isPast} onClick={() => void cancel()}>
        Cancel {waiting} waiting
      </button>
    </>
  );
};

interface TabsProps {
  readonly tab: Tab;
  readonly counts: Partial<Readonly<Record<Tab, number>>>;
  readonly children: ComponentChildren;
}

const linkToTab = (name: string): string => withParameters({ tab: name === 'timeline' ? null : name });

/** Tabs with number keys as shortcuts. */
const Tabs = ({ tab, counts, children }: TabsProps): JSX.Element => {
  const names = Object.keys(TABS) as Tab[];
  useShortcuts(
    Object.fromEntries(names.map((name, index) => [String(index + 1), () => navigate(linkToTab(name), 'replace')])),
  );
  return (
    <div>
      <nav class="tabs" aria-label="Views">
        {names.map((name) => (
          <a key={name} href={linkToTab(name)} {...(name === tab && { 'aria-current': 'page' })}>
            {TABS[name]}
            {counts[name] !== undefined && <span class="c">{counts[name]}</span>}
          </a>
        ))}
      </nav>
      {children}
    </div>
  );
};

interface ViewProps {
  readonly tab: Tab;
  readonly message: Past<SerializedMessage>;
  readonly explanation: Explanation;
}

const View = ({ tab, message, explanation }: ViewProps): JSX.Element => {
  const { id } = message;
  switch (tab) {
    case 'timeline':
      return <Timeline message={message} explanation={explanation} now={nowOf(message)} />;
    case 'preview':
      return <MessagePreview id={id} />;
    case 'text':
      return <MessageText id={id} />;
    case 'headers':
      return <MessageHeaders id={id} />;
    case 'raw':
      return <MessageRaw id={id} />;
    case 'attachments':
      return <MessageAttachments id={id} />;
    case 'webhooks':
      return <WebhookSteps steps={explanation.steps} began={new Date(message.created_at).getTime()} />;
  }
};

const countsOf = ({ steps }: Explanation): Partial<Readonly<Record<Tab, number>>> => {
  const webhooks = steps.filter(({ type }) => type.startsWith('webhook_')).length;
  return { timeline: steps.length - webhooks, webhooks };
};

/** Events of the message itself. Webhook events follow later and are left out. */
const momentsIn = (explanation: Explanation | undefined): readonly Moment[] =>
  momentsOf(
    (explanation?.steps ?? [])
      .filter(({ type }) => !type.startsWith('webhook_'))
      .map(({ at, type }) => ({ at, word: type.replaceAll('_', ' ') })),
  );

/** The displayed moment, Unix time in milliseconds. */
const nowOf = ({ as_of: asOf }: Past<SerializedMessage>): number =>
  asOf === undefined ? Date.now() : new Date(asOf.time).getTime();

interface WhyProps {
  readonly message: Past<SerializedMessage>;
  readonly explanation: Explanation;
}

/** Matches the first of several sentences, which carries the point. It must not reach into a quoted server reply. */
const FIRST = /^([^"]+?[.]) (?=\S)/;

const Summary = ({ text }: { readonly text: string }): JSX.Element => {
  const said = inZone(text, useTimes());
  const first = FIRST.exec(said)?.[1] ?? '';
  return (
    <bdi>
      {first !== '' && <b>{first}</b>}
      {said.slice(first.length)}
    </bdi>
  );
};

const Why = ({ message, explanation }: WhyProps): JSX.Element => (
  <section class="why" aria-label="Explanation">
    <p class="say">
      <Summary text={explanation.summary} />
    </p>
    <Lanes message={message} explanation={explanation} now={nowOf(message)} />
  </section>
);

/** Reloads the message after each of its events. */
const useUpdates = (id: string): void => {
  useEffect(
    () =>
      onEvents((events) => {
        if (!events.some(({ data }) => 'message_id' in data && data.message_id === id)) return;
        void client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).includes(id) });
      }),
    [id],
  );
};

const STEPS = [
  ['older', 'Older', 'J'],
  ['newer', 'Newer', 'K'],
] as const;

/** Links to the neighbouring messages of the list from which this one was opened. */
const Beside = ({ steps }: { readonly steps: Steps }): JSX.Element => (
  <span class="beside hide-s">
    {STEPS.map(([to, word, key]) => (
      <button
        key={to}
        type="button"
        aria-keyshortcuts={key}
        disabled={steps[to] === null}
        onClick={() => steps[to]?.()}
      >
        {word} <kbd>{key}</kbd>
      </button>
    ))}
  </span>
);

interface HeadProps {
  readonly message: SerializedMessage;
  readonly moments: readonly Moment[];
  readonly steps: Steps | null;
}

const Head = ({ message, moments, steps }: HeadProps): JSX.Element => {
  const times = useTimes();
  const at = useAsOf();
  const { recipients } = message;
  return (
    <>
      <Crumb path="/messages" word="Messages" id={message.id}>
        {steps !== null && <Beside steps={steps} />}
      </Crumb>
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{message.subject ?? '(no longer stored)'}</bdi>
            </h1>
            <Pill state={message.status} />
          </div>
          <p class="sub">
            <bdi>{message.from ?? 'erased or expired'}</bdi> to{' '}
            {recipients.length === 1 ? (
              <bdi>{recipients[0]?.address ?? '1 recipient'}</bdi>
            ) : (
              `${recipients.length} recipients`
            )}{' '}
            · accepted <time dateTime={message.created_at}>{times.full(message.created_at)}</time>
          </p>
        </div>
        <div class="acts">
          <AsOfButton moments={moments} />
          <ApiButton
            requests={['', '/explain'].map((part) => urlOf(`/v1/messages/${message.id}${part}`, queryAt(at)))}
          />
          <CancelButton message={message} />
        </div>
      </div>
    </>
  );
};

const One = ({ id }: { readonly id: string }): JSX.Element => {
  const tab = tabOf(usePlace().query);
  const at = useAsOf();
  useUpdates(id);
  const steps = useTrail(id);
  const message = useResource<Past<SerializedMessage>>({ path: `/v1/messages/${id}`, query: queryAt(at) });
  const explanation = useResource<Explanation>({ path: `/v1/messages/${id}/explain`, query: queryAt(at) });
  const whole = useResource<Explanation>({ path: `/v1/messages/${id}/explain` });
  const fault = message.error ?? explanation.error;
  const [shown, explained, moments] = [message.data, explanation.data, momentsIn(whole.data)];
  return (
    <>
      <AsOfBar moments={moments} asOf={shown?.as_of} />
      {fault !== null && <ScreenFault title="Message" error={fault} retry={() => void client.invalidateQueries()} />}
      {fault === null && (shown === undefined || explained === undefined) && <Skeleton />}
      {fault === null && shown !== undefined && explained !== undefined && (
        <>
          <Head message={shown} moments={moments} steps={steps} />
          {tab === 'timeline' && <Why message={shown} explanation={explained} />}
          <div class="cols">
            <Tabs tab={tab} counts={countsOf(explained)}>
              <View tab={tab} message={shown} explanation={explained} />
            </Tabs>
            <MessageFacts message={shown} />
          </div>
        </>
      )}
    </>
  );
};

/** A message: an explanation of its state, the history of each recipient and its content; now or in the past. */
export const Message = ({ id }: { readonly id: string }): JSX.Element => <One key={id} id={id} />;
