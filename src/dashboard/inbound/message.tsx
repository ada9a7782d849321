import type { ComponentChildren, JSX } from 'preact';
import type { List } from '../../http/fields.ts';
import type { SerializedInbound } from '../../http/resources/inbound.ts';
import type { SerializedWebhookDelivery } from '../../http/resources/webhooks/deliveries.ts';
import { ActButton } from '../components/action.tsx';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { Pill, Status } from '../components/icons.tsx';
import { ApiButton, Crumb, Download, NumberedTabs } from '../components/screen.tsx';
import { Empty, Fault, Notice, ScreenFault, ScreenSkeleton, Skeleton } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { ApiFault, request } from '../data/api.ts';
import { linkTo, usePlace, withParameters } from '../data/location.ts';
import { shortId, useDomainNames } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { dueAt, size, useTimes } from '../data/time.ts';
import { DownloadSource, HeaderCard, MailPreview, RawSource } from '../messages/content.tsx';
import { useTrail } from '../messages/updates.ts';
import { stateOf } from '../webhooks/delivery.tsx';
import { senderOf, VerdictList } from './verdicts.tsx';

type Message = SerializedInbound;

interface OfMessage {
  readonly message: Message;
}

const TABS = {
  preview: 'Preview',
  reply: 'Reply',
  text: 'Text',
  headers: 'Headers',
  source: 'Source',
  attachments: 'Attachments',
  webhooks: 'Webhooks',
} as const;
type Tab = keyof typeof TABS;

const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'preview';
};

/** @param text null or empty: the mail has no such text. */
const Text = ({ text, missing }: { readonly text: string | null; readonly missing: string }): JSX.Element =>
  text === null || text === '' ? (
    <Empty icon="mail" title={missing}>
      The source has everything that was received.
    </Empty>
  ) : (
    <div class="card source whole">
      <pre>
        <bdi>{text}</bdi>
      </pre>
    </div>
  );

const sourcePath = (id: string): string => `/v1/inbound/${id}/raw`;

/** Saved as plain bytes: a browser might run the type that the mail claims. */
const Attachments = ({ message: { id, attachments } }: OfMessage): JSX.Element =>
  attachments.length === 0 ? (
    <Empty icon="copy" title="No attachments">
      This message came without files.
    </Empty>
  ) : (
    <ul class="card files">
      {attachments.map(({ filename, content_type: type, size_bytes: bytes }, index) => (
        <li key={`${filename} ${index}`}>
          <span>
            <bdi class="b">{filename ?? 'attachment'}</bdi>
            <small class="muted">
              <bdi>{type}</bdi>, {size(bytes)}
            </small>
          </span>
          <Download
            word="Download"
            path={`/v1/inbound/${id}/attachments/${index}`}
            accept="application/octet-stream"
            name={filename ?? 'attachment'}
            tone="small"
          />
        </li>
      ))}
    </ul>
  );

/** An attempt takes seconds. */
const EVERY_MS = 3_000;

type Delivery = SerializedWebhookDelivery;

const DeliveryRow = ({ delivery }: { readonly delivery: Delivery }): JSX.Element => {
  const times = useTimes();
  const { id, webhook_id: webhookId, attempts, next_attempt_at: next } = delivery;
  const last = attempts.at(-1);
  const resend = (): Promise<unknown> =>
    request(`/v1/webhooks/${webhookId}/deliveries/${id}/resend`, { method: 'POST' });
  return (
    <li class="okrow flex line">
      <Status state={stateOf(delivery)} {...(next !== null && { word: `Next attempt ${dueAt(next, times.clock)}` })} />
      <a class="lnk ell" href={linkTo(`/webhooks/${webhookId}`, { delivery: id })}>
        <bdi>{last?.request.url ?? shortId(webhookId)}</bdi>
      </a>
      <span class="sp" />
      {last !== undefined && (
        <span class="muted small hide-s nw">
          {last.status === null ? 'no response' : `response ${last.status}`}, {times.clock(last.at)}
        </span>
      )}
      <ActButton
        word="Send now"
        operation="POST /v1/webhooks/:id/deliveries/:delivery/resend"
        icon="send"
        isSmall
        act={resend}
      />
    </li>
  );
};

/** Says why no webhook got the message. */
const NoDeliveries = ({ message: { action } }: OfMessage): JSX.Element => (
  <Empty
    icon="link"
    title="No webhook got this message"
    actions={
      <a class="btn" href={linkTo('/webhooks')}>
        Webhooks
      </a>
    }
  >
    {action === 'store'
      ? 'Its route stores mail without posting it.'
      : 'No webhook subscribed to inbound.received when the message came.'}
  </Empty>
);

const Deliveries = ({ message }: OfMessage): JSX.Element => {
  const path = `/v1/inbound/${message.id}/deliveries`;
  const { data, error } = useResource<List<Delivery>>({ path, everyMs: EVERY_MS });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={2} />;
  if (data.data.length === 0) return <NoDeliveries message={message} />;
  return (
    <section class="card" aria-label="Deliveries">
      <ul>
        {data.data.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} />
        ))}
      </ul>
    </section>
  );
};

const Preview = ({ message }: OfMessage): JSX.Element => (
  <MailPreview
    path={`/v1/inbound/${message.id}/preview`}
    loaded="Their servers learn that you read the mail."
    blocked="so the sender does not learn that you read the mail"
    text={<Text text={message.text} missing="No text" />}
  >
    <DownloadSource id={message.id} path={sourcePath(message.id)} />
  </MailPreview>
);

const View = ({ tab, message }: OfMessage & { readonly tab: Tab }): JSX.Element => {
  switch (tab) {
    case 'preview':
      return <Preview message={message} />;
    case 'reply':
      return <Text text={message.reply} missing="Nothing but quoted text" />;
    case 'text':
      return <Text text={message.text} missing="No text" />;
    case 'headers':
      return <HeaderCard headers={message.headers} />;
    case 'source':
      return <RawSource id={message.id} path={sourcePath(message.id)} />;
    case 'attachments':
      return <Attachments message={message} />;
    case 'webhooks':
      return (
        <div class="aside">
          <Deliveries message={message} />
        </div>
      );
  }
};

const linkToTab = (tab: Tab): string => withParameters({ tab: tab === 'preview' ? null : tab });

interface TabsProps extends OfMessage {
  readonly tab: Tab;
  readonly children: ComponentChildren;
}

const Tabs = ({ tab, message, children }: TabsProps): JSX.Element => {
  const maySeeDeliveries = useMay('GET /v1/inbound/:id/deliveries');
  const tabs = (Object.keys(TABS) as Tab[]).filter((name) => name !== 'webhooks' || maySeeDeliveries);
  const files = message.attachments.length;
  return (
    <NumberedTabs
      tabs={tabs}
      current={tab}
      words={TABS}
      counts={files === 0 ? {} : { attachments: files }}
      hrefOf={linkToTab}
    >
      {children}
    </NumberedTabs>
  );
};

const FATES: Readonly<Record<Message['action'], string>> = {
  webhook: 'As its route says, it was stored and posted to webhooks.',
  store: 'As its route says, it was stored and posted to no webhook.',
  forward: 'As its route says, it was stored and forwarded.',
};

const FORWARDS: Readonly<Record<NonNullable<Message['forward']>['status'], string>> = {
  pending: 'It was stored and will be forwarded.',
  sending: 'It was stored and is being forwarded.',
  deferred: 'It was stored. Forwarding it will be tried again.',
  forwarded: 'It was stored and forwarded.',
  failed: 'It was stored, but not forwarded',
};

const fateOf = ({ action, route_id: routeId, forward }: Message): string => {
  if (routeId === null) return 'No route matched, so it was stored and posted to all webhooks that subscribe.';
  if (forward === null) return FATES[action];
  return forward.status === 'failed' ? `${FORWARDS.failed}: ${forward.reason}.` : FORWARDS[forward.status];
};

const SENTENCES: Readonly<Partial<Record<Message['verdicts']['dmarc'], string>>> = {
  pass: 'The sender is who the From address says.',
  fail: 'The sender can be forged: the mail fails DMARC.',
};

/** Explains in sentences who sent the message and how it was handled. */
const Why = ({ message }: OfMessage): JSX.Element => {
  const { verdicts, marked, automatic, problems, in_reply_to_message_id: answered } = message;
  return (
    <section class="why frame" aria-label="Explanation">
      <p class="say">
        <b>{SENTENCES[verdicts.dmarc] ?? 'The sender is not proven: the From address can be forged.'}</b>{' '}
        {marked && 'Your organization marks such mail. '}
        {automatic && 'A program wrote it: do not answer it automatically. '}
        {fateOf(message)}
        {answered !== null && (
          <>
            {' It answers '}
            <a class="lnk" href={linkTo(`/messages/${answered}`)}>
              a message of yours
            </a>
            .
          </>
        )}
      </p>
      <VerdictList verdicts={verdicts} />
      {problems.length > 0 && (
        <Notice tone="wait" state="warning">
          <b>Parts of this mail could not be read.</b> The source is complete.{' '}
          {problems.map((problem) => (
            <bdi class="detail" key={problem}>
              {problem}
            </bdi>
          ))}
        </Notice>
      )}
    </section>
  );
};

type Mailbox = Message['to'][number];

const Mailboxes = ({ all }: { readonly all: readonly Mailbox[] }): JSX.Element => (
  <>
    {all.map(({ address, name }) => (
      <bdi class="meta" key={address}>
        {name === null ? address : `${name} <${address}>`}
      </bdi>
    ))}
  </>
);

const Rail = ({ message }: OfMessage): JSX.Element => {
  const names = useDomainNames();
  const { id, envelope, to, cc, reply_to: replyTo, domain_id: domainId, route_id: routeId, date } = message;
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Received for">
          <bdi class="any">{envelope?.to}</bdi>
        </Fact>
        <Fact name="Return path">
          <bdi class="any">{envelope?.from === '' ? 'null sender (a report)' : envelope?.from}</bdi>
        </Fact>
        {to.length > 0 && (
          <Fact name="To">
            <Mailboxes all={to} />
          </Fact>
        )}
        {cc.length > 0 && (
          <Fact name="Cc">
            <Mailboxes all={cc} />
          </Fact>
        )}
        {replyTo.length > 0 && (
          <Fact name="Reply to">
            <Mailboxes all={replyTo} />
          </Fact>
        )}
        <Fact name="Domain">
          <a class="lnk" href={linkTo('/inbound', { domain_id: domainId })}>
            {names.get(domainId) ?? shortId(domainId)}
          </a>
        </Fact>
        <Fact name="Route">
          {routeId === null ? (
            'None matched'
          ) : (
            <a class="lnk" href={linkTo('/inbound', { tab: 'routes', route: routeId })}>
              {shortId(routeId)}
            </a>
          )}
        </Fact>
        {message.message_id !== null && (
          <Fact name="Message-ID">
            <CopyField text={message.message_id} name="Message-ID" />
          </Fact>
        )}
        {date !== null && (
          <Fact name="Date, as written">
            <bdi class="any">{date}</bdi>
          </Fact>
        )}
        <Fact name="Size">{size(message.size_bytes)}</Fact>
        <Fact name="Id">
          <CopyField text={id} name="id" />
        </Fact>
      </Facts>
    </aside>
  );
};

const nameOf = ({ from, envelope }: Message): string => {
  const [sender] = from;
  if (sender !== undefined) return sender.name === null ? sender.address : `${sender.name} <${sender.address}>`;
  return envelope?.from || 'the null sender';
};

const Gone = ({ error }: { readonly error: ApiFault }): JSX.Element => (
  <>
    <div class="head">
      <h1>Inbound message</h1>
    </div>
    <Notice tone="plan" state="scheduled">
      <b>The content is no longer stored.</b> {error.message}. The list still shows when it came.
    </Notice>
  </>
);

/** A received message: whether its sender is genuine, what happened to it, and its content. */
export const InboundMessage = ({ id }: { readonly id: string }): JSX.Element => {
  const times = useTimes();
  const tab = tabOf(usePlace().query);
  const { data: message, error, refetch } = useResource<Message>({ path: `/v1/inbound/${id}` });
  useTrail(id, undefined, '/inbound');
  if (error instanceof ApiFault && error.code === 'content_gone') return <Gone error={error} />;
  if (error !== null) return <ScreenFault title="Inbound message" error={error} retry={() => void refetch()} />;
  if (message === undefined) return <ScreenSkeleton title="Inbound message" />;
  return (
    <>
      <Crumb path="/inbound" word="Inbound" id={message.id} />
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{message.subject || '(no subject)'}</bdi>
            </h1>
            <Pill {...senderOf(message)} />
          </div>
          <p class="sub">
            <bdi>{nameOf(message)}</bdi> to <bdi>{message.envelope?.to}</bdi> · received{' '}
            <time dateTime={message.received_at}>{times.full(message.received_at)}</time>
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={['', '/preview', '/raw', '/deliveries'].map((part) => `/v1/inbound/${id}${part}`)} />
        </div>
      </div>
      {tab === 'preview' && <Why message={message} />}
      <div class="cols">
        <Tabs tab={tab} message={message}>
          <View tab={tab} message={message} />
        </Tabs>
        <Rail message={message} />
      </div>
    </>
  );
};
