import { expect } from 'vitest';
import type { AnyBody, ApiClient } from '../../support/api-client.ts';
import type { Tenant } from './tenant.ts';

const YEAR_2000 = '2000-01-01T00:00:00Z';
const YEAR_2100 = '2100-01-01T00:00:00Z';

const PATHS: Readonly<Record<string, readonly string[]>> = {
  msg: ['/v1/messages/ID', '/v1/messages/ID/content', '/v1/messages/ID/events?limit=100', '/v1/messages/ID/explain'],
  key: ['/v1/api-keys/ID', '/v1/api-keys/ID/history?limit=100'],
  dom: ['/v1/domains/ID'],
  sup: ['/v1/suppressions/ID'],
  top: ['/v1/topics/ID'],
  irt: ['/v1/inbound-routes/ID'],
  tpl: ['/v1/templates/ID', '/v1/templates/ID/versions', '/v1/templates/ID/versions/1'],
  whk: ['/v1/webhooks/ID', '/v1/webhooks/ID/deliveries?limit=100', '/v1/webhooks/ID/replays?limit=100'],
};

const LISTS = [
  ...['/v1/messages?limit=100', '/v1/api-keys?limit=100', '/v1/domains?limit=100', '/v1/webhooks?limit=100'],
  ...['/v1/suppressions?limit=100', '/v1/suppressions/check?address=nobody@example.net'],
  ...['/v1/events?limit=100', `/v1/stats?granularity=month&from=${YEAR_2000}&to=${YEAR_2100}`, '/v1/billing'],
  ...[
    '/v1/topics?limit=100',
    '/v1/inbound-routes?limit=100',
    '/v1/erasures?limit=100',
    '/v1/templates?limit=100',
    '/v1/billing/usage',
    '/v1/inbox?limit=100',
    '/v1/organization',
  ],
];

/** Fields that change without a command: reads are recorded as uses, and counters follow the clock and the whole log. */
const MOVING = new Set(['last_used_at', 'counted_up_to', 'complete_until']);

const fixed = (body: AnyBody): AnyBody =>
  JSON.parse(JSON.stringify(body, (name, value) => (MOVING.has(name) ? undefined : value)));

const read = async (api: ApiClient, path: string): Promise<AnyBody> => {
  const { status, headers, body } = await api.get(path);
  return [path, status, headers.get('etag'), fixed(body)];
};

/** All data that an organization can read about itself, in both environments, with revisions. */
export const snapshotOf = async ({ live, test, ids }: Tenant): Promise<readonly AnyBody[]> => {
  const paths = Object.entries(ids).flatMap(([prefix, all]) =>
    all.flatMap((id) => (PATHS[prefix] ?? []).map((path) => path.replace('ID', id))),
  );
  const seen: AnyBody[] = [];
  for (const api of [live, test]) for (const path of [...LISTS, ...paths]) seen.push(await read(api, path));
  const statuses = new Set(seen.map(([, status]) => status));
  // Each resource exists in at least one environment.
  expect([...statuses].sort()).toEqual([200, 404]);
  for (const path of paths) expect([path, seen.some((one) => one[0] === path && one[1] === 200)]).toEqual([path, true]);
  return seen;
};
