import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedInboundRoute } from '../../http/resources/inbound-routes.ts';
import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';
import { Action } from '../components/action.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { linkTo, usePlace } from '../data/location.ts';
import { endpointOf, shortId, useDomainNames, useDomains } from '../data/names.ts';
import { removeResource, useList, useResource } from '../data/queries.ts';

/** Routes decide what happens to mail for some addresses of a domain. */

type Route = SerializedInboundRoute;

const PATH = '/v1/inbound-routes';
export const ROUTES_QUERY = { limit: 100 };

/** Webhooks that a route can name, by id. */
const useWebhooks = (): ReadonlyMap<string, string> => {
  const enabled = useMay('GET /v1/webhooks');
  const { data } = useResource<List<SerializedWebhook>>({ path: '/v1/webhooks', query: { limit: 100 }, enabled });
  return new Map((data?.data ?? []).map(({ id, url }) => [id, endpointOf(url)]));
};

const ACTIONS: Readonly<Record<Route['action'], readonly [name: string, does: string]>> = {
  webhook: ['Post to a webhook', 'stores the mail and posts inbound.received'],
  store: ['Store', 'stores the mail; no webhook gets it, but the event is in the feed'],
  forward: ['Forward', 'stores the mail and sends it to an address that has confirmed'],
  refuse: ['Refuse', 'answers that the address does not exist, and stores nothing'],
};

const isAction = (text: string): text is Route['action'] => Object.hasOwn(ACTIONS, text);

const WebhookField = ({ chosen }: { readonly chosen: string | null }): JSX.Element => {
  const webhooks = useWebhooks();
  return (
    <label class="row">
      Webhook
      <select class="inp" name="webhook_id" key={webhooks.size}>
        <option value="">All that subscribe to inbound.received</option>
        {[...webhooks].map(([id, endpoint]) => (
          <option key={id} value={id} selected={id === chosen}>
            {endpoint}
          </option>
        ))}
      </select>
    </label>
  );
};

const ForwardField = ({ route }: { readonly route: Route | null }): JSX.Element => (
  <label class="row">
    Address
    <input
      class="inp"
      name="forward_to"
      type="email"
      required
      spellcheck={false}
      placeholder="ann@example.net"
      defaultValue={route?.forward_to ?? ''}
    />
    <small class="quiet">It gets a mail with a link. Mail is forwarded once the link is confirmed.</small>
  </label>
);

/** Lower orders are tried first, so that room before and after the first route is useful. */
const ORDER_DEFAULT = 100;

/** @param route null: a new one. */
const Fields = ({ route }: { readonly route: Route | null }): JSX.Element => {
  const [action, choose] = useState<Route['action']>(route?.action ?? 'webhook');
  return (
    <>
      <label class="row">
        Addresses
        <input
          class="inp"
          name="match"
          required
          maxLength={64}
          spellcheck={false}
          placeholder="support+*"
          defaultValue={route?.match ?? ''}
        />
        <small class="quiet">The part before the @, with at most one * for any characters. Case does not matter.</small>
      </label>
      <fieldset class="row">
        <legend>Action</legend>
        {Object.entries(ACTIONS).map(([name, [word, does]]) => (
          <label class="opt" key={name}>
            <input
              type="radio"
              name="action"
              value={name}
              checked={name === action}
              onChange={() => isAction(name) && choose(name)}
            />
            <span>
              {word}
              <small>{does}</small>
            </span>
          </label>
        ))}
      </fieldset>
      {action === 'webhook' && <WebhookField chosen={route?.webhook_id ?? null} />}
      {action === 'forward' && <ForwardField route={route} />}
      <label class="row">
        Order
        <input
          class="inp"
          name="order"
          type="number"
          required
          step={1}
          min={0}
          max={1_000_000}
          defaultValue={String(route?.order ?? ORDER_DEFAULT)}
        />
        <small class="quiet">Routes of a domain are tried from the lowest order. The first match applies.</small>
      </label>
    </>
  );
};

const bodyOf = (form: FormData) => {
  const webhookId = String(form.get('webhook_id') ?? '');
  const forwardTo = form.get('forward_to');
  return {
    match: String(form.get('match')).trim(),
    action: form.get('action'),
    order: Number(form.get('order')),
    webhook_id: webhookId === '' ? null : webhookId,
    ...(forwardTo !== null && { forward_to: String(forwardTo).trim() }),
  };
};

export const AddRoute = (): JSX.Element => {
  const domains = useDomains();
  const chosen = usePlace().query.get('domain_id');
  const add = async (form: FormData): Promise<undefined> => {
    await request(PATH, { method: 'POST', body: { domain_id: form.get('domain_id'), ...bodyOf(form) } });
  };
  return (
    <Action
      word="Add a route"
      operation="POST /v1/inbound-routes"
      icon="plus"
      tone="primary"
      title="Add an inbound route"
      act={add}
    >
      <label class="row">
        Domain
        <select class="inp" name="domain_id" required>
          {domains.map(({ id, name }) => (
            <option key={id} value={id} selected={id === chosen}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Fields route={null} />
    </Action>
  );
};

const EditRoute = ({ route }: { readonly route: Route }): JSX.Element => {
  const change = async (form: FormData): Promise<undefined> => {
    await request(`${PATH}/${route.id}`, { method: 'PATCH', body: bodyOf(form) });
  };
  return (
    <Action
      word="Save"
      opener="Edit"
      operation="PATCH /v1/inbound-routes/:id"
      icon="sliders"
      tone="plain"
      isSmall
      title="Edit the route"
      act={change}
    >
      <p class="two">Mail that was received before is not affected.</p>
      <Fields route={route} />
    </Action>
  );
};

const DeleteRoute = ({ route, address }: { readonly route: Route; readonly address: string }): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`${PATH}/${route.id}`);
  };
  return (
    <Action
      word="Delete"
      operation="DELETE /v1/inbound-routes/:id"
      icon="trash"
      tone="danger"
      isSmall
      title={`Delete the route for ${address}?`}
      act={remove}
    >
      <p class="two">The next route that matches applies to later mail. Mail that was received before is kept.</p>
    </Action>
  );
};

interface RowProps {
  readonly route: Route;
  readonly domain: string;
  /** Endpoint of the webhook that the route names; null: it names none. */
  readonly endpoint: string | null;
}

const doesOf = (
  { action, webhook_id: webhookId, forward_to: address, forward_status: status }: Route,
  endpoint: string | null,
) => {
  const [word, does] = ACTIONS[action];
  if (action === 'forward' && address !== null)
    return `Forward to ${address}${status === 'pending' ? ', which has not confirmed yet' : ''}`;
  return webhookId === null ? `${word}: ${does}` : `Post to ${endpoint}`;
};

const Row = ({ route, domain, endpoint }: RowProps): JSX.Element => {
  const isShown = usePlace().query.get('route') === route.id;
  return (
    <div class="kr" {...(isShown && { 'aria-current': 'true' })}>
      <span class="num muted" title="Order">
        {route.order}
      </span>
      <span class="kn">
        <bdi class="ell b">
          {route.match}@{domain}
        </bdi>
        <small class="muted ell">{doesOf(route, endpoint)}</small>
      </span>
      <span class="flex">
        <EditRoute route={route} />
        <DeleteRoute route={route} address={`${route.match}@${domain}`} />
      </span>
    </div>
  );
};

/** In the order in which they are tried. */
const inOrder = (one: Route, other: Route): number =>
  one.order - other.order || one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id);

interface DomainRoutesProps {
  readonly name: string;
  readonly routes: readonly Route[];
  readonly webhooks: ReadonlyMap<string, string>;
}

const DomainRoutes = ({ name, routes, webhooks }: DomainRoutesProps): JSX.Element => (
  <section aria-label={name}>
    <h2 class="over">
      <bdi>{name}</bdi>
    </h2>
    <ul class="list keys routes" aria-label={`Routes of ${name}`}>
      {routes.toSorted(inOrder).map((route) => (
        <li key={route.id}>
          <Row
            route={route}
            domain={name}
            endpoint={route.webhook_id === null ? null : (webhooks.get(route.webhook_id) ?? shortId(route.webhook_id))}
          />
        </li>
      ))}
    </ul>
    <p class="muted small aside">
      {routes.some(({ match }) => match === '*')
        ? 'A route matches every address of this domain.'
        : 'Mail that no route matches is stored, and posted to all webhooks that subscribe to inbound.received.'}
    </p>
  </section>
);

/** Routes of all domains. */
export const InboundRoutes = (): JSX.Element => {
  const list = useList<Route>({ path: PATH, query: ROUTES_QUERY });
  const names = useDomainNames();
  const webhooks = useWebhooks();
  const routes = list.data?.pages.flatMap(({ data }) => data) ?? [];
  if (list.error !== null) return <Fault error={list.error} retry={() => void list.refetch()} />;
  if (list.data === undefined) return <Skeleton rows={4} />;
  if (routes.length === 0)
    return (
      <Empty icon="layers" title="No routes" actions={<AddRoute />}>
        Without routes, mail for any address of a domain that receives mail is stored, and posted to all{' '}
        <a class="lnk" href={linkTo('/webhooks')}>
          webhooks
        </a>{' '}
        that subscribe to <code>inbound.received</code>. A route changes that for some addresses.
      </Empty>
    );
  const ofDomain = Map.groupBy(routes, ({ domain_id: id }) => names.get(id) ?? shortId(id));
  return (
    <div class="stack">
      {[...ofDomain]
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([name, found]) => (
          <DomainRoutes key={name} name={name} routes={found} webhooks={webhooks} />
        ))}
      {list.hasNextPage && (
        <button type="button" class="btn further" onClick={() => void list.fetchNextPage()}>
          Show more
        </button>
      )}
    </div>
  );
};
