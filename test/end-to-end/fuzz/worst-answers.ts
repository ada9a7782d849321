import { type ApiClient, eventually } from '../../support/api-client.ts';
import type { LocatedSchema } from '../../support/openapi/document.ts';

/** The most and largest data that the limits allow, and the requests that return all of it. */

/** Length of a part of a template, with room for the text around it. */
const SOURCE_CHARACTERS = 199_000;
const RECIPIENTS = 50;
const MESSAGES = 100;
/** Number of events of a key that fills a report. */
const KEY_CHANGES = 160;
/** Base64 of 17 MB. */
const LARGE = 'QUJD'.repeat(5_800_000);
const MESSAGE = { from: 'a@example.test', subject: 's'.repeat(998), text: 'x' };

const addresses = Array.from({ length: RECIPIENTS }, (_, index) => `many${index}@example.net`);
const tags = Array.from({ length: 10 }, (_, index) => ({ name: `tag${index}`, value: 'v'.repeat(100) }));
const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key${index}`, 'm'.repeat(150)]));

const accepted = async (answer: ReturnType<ApiClient['post']>): Promise<string> => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return body.id;
};

const repeated = (text: string): string => text.repeat(Math.floor(SOURCE_CHARACTERS / text.length));

const variable = (name: string) => ({ name, type: 'string', example: 'x' });
const worstTemplate = (more: object) => ({ name: 'Worst', subject: 'x', html: '<p>x</p>', ...more });

const makeTemplates = async (api: ApiClient): Promise<string> => {
  const id = await accepted(api.post('/v1/templates', worstTemplate({ alias: 'worst', text: repeated('a\n') })));
  await accepted(api.post(`/v1/templates/${id}/publish`, {}));
  await accepted(api.patch(`/v1/templates/${id}`, { text: repeated('\n') }));
  await accepted(api.post(`/v1/templates/${id}/publish`, {}));
  return id;
};

const makeKey = async (api: ApiClient): Promise<string> => {
  const { body } = await api.get('/v1/domains');
  const id = await accepted(
    api.post('/v1/api-keys', { name: 'worst', domain_id: body.data[0].id, permissions: ['send'] }),
  );
  for (let count = 0; count < KEY_CHANGES; count += 1)
    await api.patch(`/v1/api-keys/${id}`, { name: `worst ${count}` });
  return id;
};

const sendMany = async (api: ApiClient, message: object): Promise<void> => {
  const { status, body } = await api.post('/v1/messages/batch', { messages: new Array(MESSAGES).fill(message) });
  if (status !== 202) throw new Error(`the batch was refused: ${JSON.stringify(body)}`);
};

const makeMessages = async (api: ApiClient): Promise<string> => {
  const many = { ...MESSAGE, to: addresses, tags, metadata };
  await sendMany(api, many);
  const html = `<p>${'é '.repeat(100_000)}</p>`;
  const large = { ...many, html, attachments: [{ filename: 'a.bin', content: LARGE }] };
  const id = await accepted(api.post('/v1/messages/send', large));
  await eventually(
    () => api.get(`/v1/messages/${id}`),
    ({ body }) => body.status === 'delivered',
    120_000,
  );
  return id;
};

const makeWebhook = async (api: ApiClient, url: string): Promise<string> => {
  const id = await accepted(api.post('/v1/webhooks', { url, events: ['message.*'] }));
  await sendMany(api, { ...MESSAGE, to: 'few@example.net', tags, metadata });
  return id;
};

/** Values for `{id}` in paths, by the preceding segment, and for other parameters, by name. */
export interface WorstData {
  readonly ids: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
}

/** @param webhookUrl of a server that accepts posts. */
export const makeWorstData = async (api: ApiClient, webhookUrl: string): Promise<WorstData> => {
  const key = await makeKey(api);
  const templateId = await makeTemplates(api);
  const message = await makeMessages(api);
  const { body: inbox } = await api.get('/v1/inbox');
  const largest = inbox.data.find(({ size_bytes: bytes }: { readonly size_bytes: number }) => bytes > 1_000_000);
  const webhook = await makeWebhook(api, webhookUrl);
  const topic = await accepted(api.post('/v1/topics', { name: 'Worst', description: 'd'.repeat(300), default: 'in' }));
  const { body: domains } = await api.get('/v1/domains');
  const route = { domain_id: domains.data[0].id, match: 'w'.repeat(64), action: 'store' };
  const inboundRoute = await accepted(api.post('/v1/inbound-routes', route));
  await accepted(api.post('/v1/suppressions', { address: 'worst@example.org', note: 'n'.repeat(500) }));
  await api.post('/v1/messages/send', { ...MESSAGE, from: 'no address' });
  const first = async (path: string): Promise<string> => {
    const { body } = await eventually(
      () => api.get(path),
      (answer) => answer.body.data?.length > 0,
    );
    return body.data[0].id ?? body.data[0].event_id;
  };
  const event = await first('/v1/audit/log?type=MessageAccepted');
  const { body: organization } = await api.get('/v1/organization');
  // Proofs and exports need the first checkpoint.
  await eventually(
    () => api.get('/v1/audit/consistency?from=1'),
    ({ status }) => status !== 409,
    CHECKPOINT_MS_MAX,
  );
  return {
    ids: {
      'api-keys': key,
      templates: templateId,
      messages: message,
      webhooks: webhook,
      topics: topic,
      'inbound-routes': inboundRoute,
      inbox: String(largest.id),
      suppressions: await first('/v1/suppressions'),
      domains: await first('/v1/domains'),
      members: await first('/v1/members'),
      requests: await first('/v1/requests'),
      proof: event,
      disclosures: event,
    },
    parameters: {
      version: '2',
      place: '0',
      organization: organization.id,
      delivery: await first(`/v1/webhooks/${webhook}/deliveries`),
    },
  };
};

/** Checkpoints are signed a minute after an event. */
const CHECKPOINT_MS_MAX = 180_000;

const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/v1/templates/{id}/versions/{version}/diff': ['?with=1', '?with=draft'],
  '/v1/audit/reports/access': ['?format=pdf', '?format=html', '?format=csv', ''],
  '/v1/audit/reports/api-keys/{id}': ['?format=pdf', '?format=html', '?format=csv', ''],
  '/v1/audit/reports/messages/{id}': ['?format=pdf', '?format=html', '?format=csv', ''],
  '/v1/audit/consistency': ['?from=1'],
  '/v1/search': ['?q=many', '?q=tag0'],
  '/v1/stats': ['?granularity=hour', '?group_by=recipient_domain', '?granularity=month&group_by=tag'],
  '/v1/suppressions/check': ['?address=worst@example.org'],
};

/** Requests of a read operation, with `x` for missing values. Lists are requested with the largest limit. */
export const worstReads = (
  { method, path, operation }: LocatedSchema,
  { ids, parameters }: WorstData,
): readonly string[] => {
  if (method !== 'GET') return [];
  const [, segment = ''] = /([^/]+)\/\{id\}/.exec(path) ?? [];
  const filled = path
    .replace('{id}', ids[segment] ?? 'x')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'x');
  const isList = operation.parameters.some(({ name }) => name === 'limit');
  const queries = QUERIES[path] ?? [isList ? '?limit=100' : ''];
  return queries.map((query) => filled + query);
};

/** The templates that cost most to publish. The names of the two variables are declared and used. */
export const WORST_TEMPLATES: Readonly<Record<string, object>> = {
  'many assignments': { html: `<p>${'{%assign b=a%}'.repeat(4_990)}x</p>`, variables: [variable('a')] },
  'many paths': { html: `<p>${'{{a.b.c.d.e.f.g.h.i}}'.repeat(4_990)}x</p>`, variables: [variable('a')] },
  'many variables in each tag': {
    html: `<p>${`{{a${'|append:a'.repeat(190)}}}`.repeat(90)}</p>`,
    variables: [variable('a')],
  },
  'a loop without an end': { html: '<p>{% for i in (1..100000000) %}x{% endfor %}</p>', variables: [] },
  'slow parts': {
    html: `<p>${'{{a}}'.repeat(2_000)}</p>`,
    text: '{{a}}'.repeat(2_000),
    preheader: '{{a}}'.repeat(190),
    variables: [variable('a')],
  },
  'much html': { html: repeated('<p class="a">x</p>'), variables: [] },
  'deep html': { html: '<div>'.repeat(500) + '</div>'.repeat(500), variables: [] },
  'styles to be written into elements': {
    html: `<style>${Array.from({ length: 400 }, (_, index) => `.a${index}{color:red}`).join('')}</style>${Array.from({ length: 2_000 }, (_, index) => `<p class="a${index % 400}">x</p>`).join('')}`,
    inline_css: true,
    variables: [],
  },
  MJML: {
    format: 'mjml',
    html: `<mjml><mj-body>${'<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>'.repeat(100)}</mj-body></mjml>`,
    variables: [],
  },
};

/** Creates a draft of a template and publishes it. @returns the statuses of both requests. */
export const publish = async (api: ApiClient, template: object): Promise<readonly number[]> => {
  const existing = await api.get('/v1/templates/published');
  const drafted =
    existing.status === 404
      ? await api.post('/v1/templates', worstTemplate({ alias: 'published', ...template }))
      : await api.patch('/v1/templates/published', {
          text: null,
          preheader: null,
          format: 'html',
          inline_css: false,
          ...template,
        });
  const published = await api.post('/v1/templates/published/publish', {});
  return [drafted.status, published.status];
};
