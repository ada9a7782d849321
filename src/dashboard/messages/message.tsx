import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import { AsOfBar, AsOfButton, type Moment, momentsOf, type Past, queryAt, useAsOf } from '../components/as-of.tsx';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { ApiButton, Crumb, NumberedTabs } from '../components/screen.tsx';
import { Fault, ScreenFault, ScreenSkeleton } from '../components/states.tsx';
import { type OperationName, useAllowed, useMay, useMaySearchFor } from '../data/access.ts';
import { request, urlOf } from '../data/api.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, usePlace, withParameters } from '../data/location.ts';
import { isMemberId, shortId, useDomainNames, useSenderNames } from '../data/names.ts';
import { client, reloadChanged, useResource } from '../data/queries.ts';
import { inZone, size, useTimes } from '../data/time.ts';
import { MessageAttachments, MessageHeaders, MessagePreview, MessageRaw, MessageText } from './content.tsx';
import { Identity } from './identity.tsx';
import { type Explanation, MessagePill } from './peek.tsx';
import { Recipients } from './recipients.tsx';
import { ResendButton, ResendFacts } from './resend.tsx';
import { Lanes, Timeline, WebhookSteps } from './timeline.tsx';
import { type Steps, useTrail } from './updates.ts';

/** Higher: the page loads more slowly. */
const ANSWERS_MAX = 10;

/** Links to inbound mail that answers the message. */
const Answers = ({ id }: Pick<SerializedMessage, 'id'>): JSX.Element | null => {
  const query = { in_reply_to_message_id: id };
  const enabled = useMay('GET /v1/inbound');
  const { data } = useResource<List<unknown>>({
    path: '/v1/inbound',
    query: { ...query, limit: ANSWERS_MAX },
    enabled,
  });
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Fact name="Answers">
      <a class="lnk" href={linkTo('/inbound', query)}>
        {data.data.length}
        {data.has_more && ' or more'}
      </a>
    </Fact>
  );
};

/** Facts about a message apart from its history, each a link or copyable. */
export const MessageFacts = ({ message }: { readonly message: SerializedMessage }): JSX.Element => {
  const times = useTimes();
  const senders = useSenderNames();
  const domains = useDomainNames();
  const maySearchFor = useMaySearchFor();
  const { template } = message;
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Message-ID">
          <CopyField text={message.message_id} name="Message-ID" />
        </Fact>
        <Fact name={isMemberId(message.api_key_id) ? 'Sent by' : 'API key'}>
          <a class="lnk" href={linkTo('/messages', { key_id: message.api_key_id })}>
            <bdi>{senders.get(message.api_key_id) ?? shortId(message.api_key_id)}</bdi>
          </a>
        </Fact>
        <Fact name="Domain">
          <a class="lnk" href={linkTo('/messages', { domain_id: message.domain_id })}>
            {domains.get(message.domain_id) ?? shortId(message.domain_id)}
          </a>
        </Fact>
        {template !== null && (
          <Fact name="Template">
            <a class="lnk" href={linkTo('/messages', { template_id: template.id })}>
              {shortId(template.id)}
            </a>{' '}
            <span class="muted">version {template.version}</span>
          </Fact>
        )}
        {message.tags.length > 0 && (
          <Fact name="Tags">
            <span class="states">
              {message.tags.map(({ name, value }) => (
                <a
                  class="tag"
                  key={name}
                  {...(maySearchFor(value) && { href: linkTo('/messages', { tag: `${name}:${value}` }) })}
                >
                  <bdi>
                    {name}:{value}
                  </bdi>
                </a>
              ))}
            </span>
          </Fact>
        )}
        {Object.keys(message.metadata).length > 0 && (
          <Fact name="Metadata">
            {Object.entries(message.metadata).map(([name, value]) => (
              <bdi class="meta" key={name}>
                <code>{name}</code> <span class="muted">=</span> <code>{value}</code>
              </bdi>
            ))}
          </Fact>
        )}
        <Answers id={message.id} />
        <ResendFacts message={message} />
        <Fact name="Class">{message.stream === 'bulk' ? 'Bulk' : 'Transactional'}</Fact>
        {message.scheduled_at !== null && <Fact name="Scheduled for">{times.full(message.scheduled_at)}</Fact>}
        <Fact name="Expires">{times.full(message.expires_at)}</Fact>
        <Fact name="Size">{size(message.size_bytes)}</Fact>
        <Identity id={message.id} />
      </Facts>
    </aside>
  );
};

const TABS = {
  timeline: 'Timeline',
  preview: 'Preview',
  text: 'Text',
  headers: 'Headers',
  raw: 'Raw',
  attachments: 'Attachments',
  webhooks: 'Webhooks',
  recipients: 'Recipients',
} as const;
type Tab = keyof typeof TABS;

/** Operations that each tab uses besides reading the message. Without permission there is no tab. */
const READS: Partial<Readonly<Record<Tab, OperationName>>> = {
  preview: 'GET /v1/messages/:id/preview',
  text: 'GET /v1/messages/:id/content',
  headers: 'GET /v1/messages/:id/raw',
  raw: 'GET /v1/messages/:id/raw',
  attachments: 'GET /v1/messages/:id/content',
};

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
  const may = useMay('POST /v1/messages/:id/cancel');
  if (waiting === 0 || !may) return null;
  const cancel = async (): Promise<void> => {
    try {
      await request(`/v1/messages/${message.id}/cancel`, { method: 'POST' });
      setError(null);
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
    await reloadChanged();
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

const linkToTab = (name: Tab): string => withParameters({ tab: name === 'timeline' ? null : name, outcome: null });

interface TabsProps {
  readonly tab: Tab;
  readonly counts: Partial<Readonly<Record<Tab, number>>>;
  readonly children: ComponentChildren;
}

const Tabs = ({ tab, counts, children }: TabsProps): JSX.Element => {
  const allowed = useAllowed();
  const tabs = (Object.keys(TABS) as Tab[]).filter((name) => {
    const operation = READS[name];
    return operation === undefined || allowed(operation);
  });
  return (
    <NumberedTabs tabs={tabs} current={tab} words={TABS} counts={counts} hrefOf={linkToTab}>
      {children}
    </NumberedTabs>
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
      return (
        <WebhookSteps
          steps={explanation.steps}
          leftOut={explanation.left_out}
          began={new Date(message.created_at).getTime()}
        />
      );
    case 'recipients':
      return <Recipients message={message} />;
  }
};

const countsOf = (
  { steps }: Explanation,
  { recipients }: SerializedMessage,
): Partial<Readonly<Record<Tab, number>>> => {
  const webhooks = steps.filter(({ type }) => type.startsWith('webhook_')).length;
  return { timeline: steps.length - webhooks, webhooks, recipients: recipients.length };
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
  <section class="why frame" aria-label="Explanation">
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
        void reloadChanged({ predicate: ({ queryKey }) => String(queryKey[0]).includes(id) });
      }),
    [id],
  );
};

const STEPS = [
  ['older', 'Older', 'J'],
  ['newer', 'Newer', 'K'],
] as const;

/** Opens the neighbouring messages: of the list from which this one was opened, or else of all. */
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
  readonly steps: Steps;
}

const Head = ({ message, moments, steps }: HeadProps): JSX.Element => {
  const times = useTimes();
  const at = useAsOf();
  const { recipients } = message;
  return (
    <>
      <Crumb path="/messages" word="Messages" id={message.id}>
        <Beside steps={steps} />
      </Crumb>
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{message.subject ?? '(no longer stored)'}</bdi>
            </h1>
            <MessagePill message={message} />
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
          <ResendButton message={message} />
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
  const message = useResource<Past<SerializedMessage>>({ path: `/v1/messages/${id}`, query: queryAt(at) });
  const steps = useTrail(id, message.data);
  const explanation = useResource<Explanation>({ path: `/v1/messages/${id}/explain`, query: queryAt(at) });
  const whole = useResource<Explanation>({ path: `/v1/messages/${id}/explain` });
  const fault = message.error ?? explanation.error;
  const [shown, explained, moments] = [message.data, explanation.data, momentsIn(whole.data)];
  return (
    <>
      <AsOfBar moments={moments} asOf={shown?.as_of} />
      {fault !== null && <ScreenFault title="Message" error={fault} retry={() => void client.invalidateQueries()} />}
      {fault === null && (shown === undefined || explained === undefined) && <ScreenSkeleton title="Message" />}
      {fault === null && shown !== undefined && explained !== undefined && (
        <>
          <Head message={shown} moments={moments} steps={steps} />
          {tab === 'timeline' && <Why message={shown} explanation={explained} />}
          <div class="cols">
            <Tabs tab={tab} counts={countsOf(explained, shown)}>
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
