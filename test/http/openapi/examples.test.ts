import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answerCheck } from '../../support/openapi/answer-check.ts';
import { type LocatedSchema, operationsOf, readOpenApi } from '../../support/openapi/document.ts';
import { startOpenIdProvider } from '../../support/openid-provider.ts';
import { bounce } from '../support/bounced.ts';
import { startDatabaseService } from '../support/database-service.ts';
import { connect } from '../support/oidc-sign-in.ts';
import { type Service, startService } from '../support/service.ts';
import { SAME_ORIGIN } from '../support/sign-in.ts';

const HOUR_MS = 3_600_000;
/** An address without a name. Registering resolves names, which needs a network. */
const LISTENER = 'http://127.0.0.1:9/hook';
const ID = /^([a-z]{3})_[a-z2-7]{26}$/;

interface Place {
  readonly key: string;
  /** The domain that stands for `example.test`, which only one organization can have. */
  readonly domain: string;
  /** One resource of each kind, by the prefix of its id. */
  readonly ids: Readonly<Record<string, string>>;
  /** Token of a sign-in link. */
  readonly token: string;
}

const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

let places = 0;

/** An organization with a domain that the examples send from, and a resource for every path. */
const newPlace = async (service: Service): Promise<Place> => {
  const organizationId = await service.makeOrganization();
  places += 1;
  const domain = `place-${places}.example.test`;
  const domainId = await service.makeDomain(organizationId, domain);
  const { value: key } = await service.makeKey(organizationId, domainId);
  const other = await service.makeKey(organizationId, domainId, { permissions: ['send'] });
  const make = async (url: string, payload: object): Promise<string> =>
    (await service.request({ method: 'POST', url, key, payload })).json().id;
  const message = { from: `a@${domain}`, to: 'b@example.org', subject: 'x', text: 'x', scheduled_at: inAnHour() };
  const invited = await service.request({
    method: 'POST',
    url: '/v1/members',
    key,
    payload: { email: 'owner@example.net', role: 'owner' },
  });
  const ids = {
    dom: domainId,
    mbr: invited.json().id,
    key: other.id,
    msg: await make('/v1/messages/send', message),
    tpl: await makeTemplate(service, key),
    top: await make('/v1/topics', { name: 'Offers', default: 'in' }),
    irt: await make('/v1/inbound-routes', { domain_id: domainId, match: '*', action: 'store' }),
    whk: await make('/v1/webhooks', { url: LISTENER, events: ['message.*'] }),
  };
  return { key, domain, ids, token: new URL(invited.json().link.url).hash.slice(1) };
};

/** Its message is one that can be sent again. */
const withBouncedMessage = async (service: Service, place: Place): Promise<Place> => {
  const { key, domain } = place;
  const payload = { from: `a@${domain}`, to: 'b@example.org', subject: 'x', text: 'x' };
  const { id } = (await service.request({ method: 'POST', url: '/v1/messages/send', key, payload })).json();
  await bounce(service, id);
  return { ...place, ids: { ...place.ids, msg: id } };
};

/** A template with one version, and a draft that can be published next. */
const makeTemplate = async (service: Service, key: string): Promise<string> => {
  const content = { name: 'x', subject: 'x', html: '<p>x</p>' };
  const post = async (url: string, payload: object): Promise<{ readonly id: string }> =>
    (await service.request({ method: 'POST', url, key, payload })).json();
  const { id } = await post('/v1/templates', { alias: 'x', ...content });
  await post(`/v1/templates/${id}/publish`, {});
  await service.request({ method: 'PATCH', url: `/v1/templates/${id}`, key, payload: { subject: 'y' } });
  return id;
};

/** Replaces the ids, times, domain and webhook addresses of an example, as a reader would. */
const filledIn = (value: unknown, { ids, token, domain }: Place): object =>
  JSON.parse(JSON.stringify(value), (name, one) => {
    const own: Readonly<Record<string, string>> = { scheduled_at: inAnHour(), url: LISTENER, token };
    if (Object.hasOwn(own, name)) return own[name];
    if (typeof one !== 'string') return one;
    const prefix = ID.exec(one)?.[1];
    return prefix === undefined ? one.replaceAll('example.test', domain) : ids[prefix];
  });

const pathOf = ({ path, operation }: LocatedSchema, { ids }: Place): string =>
  operation.parameters
    .filter((one) => one.in === 'path')
    .reduce((text, { name, schema }) => {
      const prefix = String(schema.pattern).slice('^'.length, '^'.length + 3);
      return text.replace(`{${name}}`, ids[prefix] ?? '');
    }, path);

const document = await (async () => {
  const service = await startService();
  const source = (await service.request({ url: '/openapi.json' })).json();
  await service.close();
  return readOpenApi(source);
})();

const examples = operationsOf(document).flatMap((located) =>
  Object.values(located.operation.requestBody?.content['application/json']?.examples ?? {}).map((example) => ({
    located,
    ...example,
    what: `${located.operation.operationId}: ${example.summary}`,
  })),
);

/** Redirecting to an identity provider requires one. */
const withProvider = async () => {
  const provider = await startOpenIdProvider('http://localhost/dashboard/sign-in/oidc');
  onTestFinished(() => provider.close());
  return { identityProvider: connect(provider) };
};

/** Operations for members only, with proofs that are created on the spot. */
const isOfMembers = ({ located }: (typeof examples)[number]): boolean =>
  ['addPasskey', 'listMemberships', 'provePresence', 'replaceViews', 'setContentsRoles'].includes(
    located.operation.operationId,
  );

describe('every example of the document', () => {
  const check = answerCheck(document);
  let inMemory: Service;
  let onDatabase: Service;
  beforeAll(async () => {
    inMemory = await startService();
    onDatabase = await startDatabaseService();
  });
  afterAll(async () => {
    await inMemory.close();
    await onDatabase.close();
  });

  const serviceFor = async ({ operation: { operationId } }: LocatedSchema): Promise<Service> => {
    if (['replayWebhook', 'previewErasure', 'cancelMessages', 'testInbound'].includes(operationId)) return onDatabase;
    if (operationId !== 'startOidc') return inMemory;
    const service = await startService(await withProvider());
    onTestFinished(() => service.close());
    return service;
  };

  test.each(examples.filter((example) => !isOfMembers(example)))('succeeds: $what', async ({ located, value }) => {
    const service = await serviceFor(located);
    const made = await newPlace(service);
    const isResend = located.operation.operationId.startsWith('resendMessage');
    const place = isResend ? await withBouncedMessage(service, made) : made;
    const method = located.method as NonNullable<InjectOptions['method']>;
    const url = pathOf(located, place);
    const sent = filledIn(value, place);
    const answer = await service.request({ method, url, key: place.key, headers: SAME_ORIGIN, payload: sent });
    const succeeds = Object.keys(located.operation.responses).filter((status) => status.startsWith('2'));
    expect([String(answer.statusCode), answer.json().error]).toEqual([succeeds[0], undefined]);
    const headers = { get: (name: string) => answer.headers[name.toLowerCase()]?.toString() ?? null };
    const { statusCode: status, payload: text } = answer;
    expect(check({ method, path: url, status, headers, text })).toEqual([]);
  });

  test('exists for every operation that accepts JSON', () => {
    expect(new Set(examples.map(({ located }) => located.operation.operationId))).toEqual(
      new Set(
        operationsOf(document)
          .filter(({ operation }) => operation.requestBody?.content['application/json'] !== undefined)
          .map(({ operation }) => operation.operationId),
      ),
    );
  });
});
