import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import type { SerializedInbound, SerializedListedInbound } from '../../http/resources/inbound.ts';
import { Action } from '../components/action.tsx';
import { CopyWhole } from '../components/facts.tsx';
import { ApiButton } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { useMay, useSeesContents } from '../data/access.ts';
import { request, urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useList, useResource } from '../data/queries.ts';
import { RefusedFilters, useRefusedFilters } from '../messages/search.tsx';
import { InboundList, PATH } from './list.tsx';
import { AddRoute, InboundRoutes, ROUTES_QUERY } from './routes.tsx';
import { type InboundSearch, InboundSearchBar, isFiltered, listQuery, OPEN_FILTERS, searchOf } from './search.tsx';

/** Receives a mail by hand, to try routes and webhooks. */
const ReceiveTest = (): JSX.Element | null => {
  const { data: domains } = useResource<List<SerializedDomain>>({
    path: '/v1/domains',
    query: { limit: 100 },
    enabled: useMay('GET /v1/domains'),
  });
  const domain = domains?.data.find(({ inbound }) => inbound.mx) ?? domains?.data[0];
  const mayOpen = useSeesContents();
  const receive = async (form: FormData): Promise<undefined> => {
    const field = (name: string): string => String(form.get(name)).replaceAll(/[\r\n]+/g, ' ');
    const [from, to] = [field('from').trim(), field('to').trim()];
    const raw = [
      `From: ${from}`,
      `To: ${to}`,
      `Subject: ${field('subject')}`,
      `Date: ${new Date().toUTCString()}`,
      `Message-ID: <${crypto.randomUUID()}@dashboard.invalid>`,
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      String(form.get('text')),
      '',
    ].join('\r\n');
    const { id } = await request<SerializedInbound>('/v1/inbound/test', { method: 'POST', body: { raw, to, from } });
    navigate(linkTo(`/inbound/${id}`));
  };
  if (!mayOpen) return null;
  return (
    <Action
      word="Receive a test"
      operation="POST /v1/inbound/test"
      icon="reply"
      tone="primary"
      title="Receive a test message"
      act={receive}
    >
      <p class="two">
        The message is read, checked and routed like mail by SMTP, and posted to webhooks. The domain of the recipient
        must receive mail.
      </p>
      <label class="row">
        From
        <input class="inp" name="from" type="email" required defaultValue="ann@example.net" />
      </label>
      <label class="row" key={domain?.id}>
        To
        <input
          class="inp"
          name="to"
          type="email"
          required
          defaultValue={domain === undefined ? '' : `support@${domain.name}`}
        />
      </label>
      <label class="row">
        Subject
        <input class="inp" name="subject" required defaultValue="A test" />
      </label>
      <label class="row">
        Text
        <textarea class="inp" name="text" rows={4} required defaultValue="It works." />
      </label>
    </Action>
  );
};

const TRY = `curl "$OUTBOX_URL/v1/inbound/test" -H "Authorization: Bearer $OUTBOX_KEY" -H 'Content-Type: application/json' \\
  -d '{"raw": "From: ann@example.net\\r\\nSubject: Hello\\r\\n\\r\\nHello\\r\\n", "to": "support@example.com"}'`;

const NoneAtAll = (): JSX.Element => (
  <section class="card" aria-label="Receive mail">
    <header>
      <h2>No inbound mail yet</h2>
    </header>
    <ol class="pad begin">
      <li>
        <b class="b">Turn on inbound mail</b>
        <p class="two">
          Open a{' '}
          <a class="lnk" href={linkTo('/domains')}>
            domain
          </a>{' '}
          and choose “Receive mail”. Use a subdomain such as reply.example.com if people have mailboxes at the domain.
        </p>
      </li>
      <li>
        <b class="b">Publish its MX record</b>
        <p class="two">It is then among the records of the domain, and is checked like the others.</p>
      </li>
      <li>
        <b class="b">Try it, even before the record is published</b>
        <div class="curl cp">
          <pre>{TRY}</pre>
        </div>
        <CopyWhole text={TRY} word="Copy" />
      </li>
    </ol>
  </section>
);

const NoMatches = (): JSX.Element => (
  <Empty
    icon="search"
    title="No matching inbound mail"
    actions={
      <a class="btn" href={linkTo('/inbound')}>
        Clear filters
      </a>
    }
  >
    Addresses must be complete. Subjects must contain all words, for as long as contents are stored.
  </Empty>
);

const Messages = ({ search }: { readonly search: InboundSearch }): JSX.Element => {
  const refused = useRefusedFilters(search);
  const list = useList<SerializedListedInbound>({
    path: PATH,
    query: listQuery(search),
    enabled: refused.length === 0,
  });
  const messages = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  const isEmpty = list.data !== undefined && list.error === null && messages.length === 0;
  return (
    <>
      {(!isEmpty || isFiltered(search)) && <InboundSearchBar search={search} messages={messages} />}
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      <RefusedFilters names={refused} others={OPEN_FILTERS} />
      {list.isLoading && <Skeleton />}
      {isEmpty && (isFiltered(search) ? <NoMatches /> : <NoneAtAll />)}
      {list.error === null && <InboundList list={list} messages={messages} />}
    </>
  );
};

/** Mail that people sent to the domains, and the routes that decide what happens to it. */
export const Inbound = (): JSX.Element => {
  const { query } = usePlace();
  const mayRoute = useMay('GET /v1/inbound-routes');
  const isRoutes = mayRoute && query.get('tab') === 'routes';
  const search = searchOf(query);
  const requests = [urlOf(PATH, listQuery(search)), urlOf('/v1/inbound-routes', ROUTES_QUERY)];
  return (
    <>
      <div class="head">
        <div>
          <h1>Inbound</h1>
          <p class="sub">Mail that people send to your domains: replies, questions and reports</p>
        </div>
        <div class="acts">
          <ApiButton requests={requests} />
          {isRoutes ? <AddRoute /> : <ReceiveTest />}
        </div>
      </div>
      {mayRoute && (
        <nav class="tabs" aria-label="Inbound mail">
          <a href={linkTo('/inbound')} {...(!isRoutes && { 'aria-current': 'page' })}>
            Messages
          </a>
          <a href={withParameters({ tab: 'routes' })} {...(isRoutes && { 'aria-current': 'page' })}>
            Routes
          </a>
        </nav>
      )}
      <div class="aside">{isRoutes ? <InboundRoutes /> : <Messages search={search} />}</div>
    </>
  );
};
