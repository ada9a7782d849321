import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedMessage } from '../../http/schemas/message.ts';
import type { SerializedMessageContent } from '../../http/schemas/message-content.ts';
import { ApiFault, request } from '../data/api.ts';
import { onEvent } from '../data/live.ts';
import { linkTo, usePlace, withParameters } from '../data/location.ts';
import { shortId, useDomainNames, useKeyNames } from '../data/names.ts';
import { client, useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { CopyField, Fact, Facts } from '../parts/facts.tsx';
import { Icon, Pill } from '../parts/icons.tsx';
import { Lanes } from '../parts/lanes.tsx';
import type { Explanation } from '../parts/peek.tsx';
import { Fault, Notice, Skeleton } from '../parts/states.tsx';
import { Timeline } from '../parts/timeline.tsx';

const TABS = { timeline: 'Timeline', text: 'Text', html: 'HTML', headers: 'Headers' } as const;
type Tab = keyof typeof TABS;

const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'timeline';
};

/** What can still be called back. */
const CANCELLABLE: readonly string[] = ['accepted', 'scheduled', 'deferred'];

const CancelButton = ({ message }: { readonly message: SerializedMessage }): JSX.Element | null => {
  const [error, setError] = useState<Error | null>(null);
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
      <button type="button" class="btn danger" onClick={() => void cancel()}>
        Cancel {waiting} waiting
      </button>
    </>
  );
};

const Rail = ({ message }: { readonly message: SerializedMessage }): JSX.Element => {
  const times = useTimes();
  const keyNames = useKeyNames();
  const domains = useDomainNames();
  const { template } = message;
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Message-ID">
          <CopyField text={message.message_id} name="Message-ID" />
        </Fact>
        <Fact name="API key">
          <a class="lnk" href={linkTo('/messages', { key_id: message.api_key_id })}>
            <bdi>{keyNames.get(message.api_key_id) ?? shortId(message.api_key_id)}</bdi>
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
                <a class="tag" key={name} href={linkTo('/messages', { tag: `${name}:${value}` })}>
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
        <Fact name="Class">{message.stream === 'bulk' ? 'Bulk' : 'Transactional'}</Fact>
        {message.scheduled_at !== null && <Fact name="Scheduled for">{times.full(message.scheduled_at)}</Fact>}
        <Fact name="Gives up">{times.full(message.expires_at)}</Fact>
        <Fact name="Size">{count(message.size_bytes)} bytes</Fact>
        <Fact name="Id">
          <CopyField text={message.id} name="id" />
        </Fact>
      </Facts>
    </aside>
  );
};

const Gone = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault && error.code === 'content_gone' ? (
    <Notice tone="plan" state="scheduled">
      <b>The content is no longer stored.</b> {error.message}. Its history stays.
    </Notice>
  ) : (
    <Fault error={error} />
  );

/** Reading it is put on record, so it is read only when it is asked for. */
const Content = ({ id, tab }: { readonly id: string; readonly tab: Exclude<Tab, 'timeline'> }): JSX.Element => {
  const { data, error } = useResource<SerializedMessageContent>({ path: `/v1/messages/${id}/content` });
  if (error !== null) return <Gone error={error} />;
  if (data === undefined) return <Skeleton rows={4} />;
  if (tab === 'headers') {
    return (
      <div class="card source">
        <Facts>
          <Fact name="From">
            <bdi>{data.from_name === null ? data.from : `${data.from_name} <${data.from}>`}</bdi>
          </Fact>
          {Object.entries(data.headers).map(([name, value]) => (
            <Fact key={name} name={name}>
              <bdi>{value}</bdi>
            </Fact>
          ))}
        </Facts>
      </div>
    );
  }
  const text = tab === 'text' ? data.text : data.html;
  const missing = tab === 'text' ? 'It was sent without a text of its own.' : 'It was sent without HTML.';
  return (
    <div class="card source">
      <pre>
        <bdi>{text ?? missing}</bdi>
      </pre>
    </div>
  );
};

const Tabs = ({ tab, children }: { readonly tab: Tab; readonly children: ComponentChildren }): JSX.Element => (
  <div>
    <nav class="tabs" aria-label="Views">
      {Object.entries(TABS).map(([name, word]) => (
        <a
          key={name}
          href={withParameters({ tab: name === 'timeline' ? null : name })}
          {...(name === tab && { 'aria-current': 'page' })}
        >
          {word}
        </a>
      ))}
    </nav>
    {children}
  </div>
);

/** Reads the message again when something happens to it. */
const useUpdates = (id: string): void => {
  useEffect(
    () =>
      onEvent(({ data }) => {
        if (!('message_id' in data) || data.message_id !== id) return;
        void client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).includes(id) });
      }),
    [id],
  );
};

const Head = ({ message }: { readonly message: SerializedMessage }): JSX.Element => {
  const times = useTimes();
  const { recipients } = message;
  return (
    <>
      <div class="crumb">
        <a href={linkTo('/messages')}>Messages</a>
        <Icon name="right" />
        <code class="ell">{message.id}</code>
      </div>
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
          <ApiButton requests={[`/v1/messages/${message.id}`, `/v1/messages/${message.id}/explain`]} />
          <CancelButton message={message} />
        </div>
      </div>
    </>
  );
};

/** A message: why it is as it is, what happened to each recipient, and what it says. */
export const Message = ({ id }: { readonly id: string }): JSX.Element => {
  const tab = tabOf(usePlace().query);
  useUpdates(id);
  const { data: message, error } = useResource<SerializedMessage>({ path: `/v1/messages/${id}` });
  const { data: explanation, error: unexplained } = useResource<Explanation>({ path: `/v1/messages/${id}/explain` });
  const fault = error ?? unexplained;
  if (fault !== null) return <Fault error={fault} retry={() => void client.invalidateQueries()} />;
  if (message === undefined || explanation === undefined) return <Skeleton />;
  return (
    <>
      <Head message={message} />
      <section class="why" aria-label="Explanation">
        <p class="say">
          <bdi>{explanation.summary}</bdi>
        </p>
        <Lanes message={message} explanation={explanation} />
      </section>
      <div class="cols">
        <Tabs tab={tab}>
          {tab === 'timeline' ? (
            <Timeline message={message} explanation={explanation} />
          ) : (
            <Content id={id} tab={tab} />
          )}
        </Tabs>
        <Rail message={message} />
      </div>
    </>
  );
};
