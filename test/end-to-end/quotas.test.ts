import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { closedAfterTest } from '../support/after-test.ts';
import { type AnyBody, type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { type Place, placeForTest, programForTest } from '../support/place-for-test.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const QUOTA = 100;
const CONTACT = 'accounts@example.org';

const PLAN = { name: 'Hundred', currency: 'EUR', price: 0, overage_per_1000: '0', included: QUOTA };
/** Both plans lower nothing of the default plan, so they apply at once. */
const PLANS = {
  default: 'none',
  plans: [
    { ...PLAN, id: 'none', included: 0, hard_limit: 0, offered: false },
    { ...PLAN, id: 'soft' },
    { ...PLAN, id: 'hard', hard_limit: QUOTA },
  ],
};

interface Open {
  readonly api: ApiClient;
  readonly posts: readonly { readonly body: string }[];
  /** Makes another organization reach 80 % of its quota, and waits for its warning, so that all quotas have been checked. */
  quotasChecked(): Promise<void>;
}

const sender = (domain: string) => ({ from: `shop@${domain}`, subject: 'Hello', text: 'Hello' });
const RECIPIENTS = 10;

/** Sends a strict batch of messages with ten recipients each. */
const sendFrom = (api: ApiClient, domain: string, recipients: number, prefix = 'r') =>
  api.post('/v1/messages/batch', {
    messages: Array.from({ length: recipients / RECIPIENTS }, (_, message) => ({
      ...sender(domain),
      to: Array.from({ length: RECIPIENTS }, (__, number) => `${prefix}${message}-${number}@example.net`),
    })),
  });

const sendTo = ({ api }: Open, recipients: number, prefix?: string) =>
  sendFrom(api, 'example.test', recipients, prefix);

const warningsOf = async (api: ApiClient): Promise<readonly string[]> =>
  (await api.get('/v1/events?types=billing.*&limit=100')).body.data.map(({ type }: { type: string }) => type);

const warningsIn = ({ api }: Open): Promise<readonly string[]> => warningsOf(api);

/** Retries while the caches of the process do not know the plan yet, by which nothing may be sent. */
const sendAsSoonAs = (send: () => ReturnType<typeof sendFrom>) => eventually(send, ({ status }) => status === 202);

let others = 0;

const reachWarning = async (place: Place, baseUrl: string): Promise<void> => {
  others += 1;
  const name = `other${others}.test`;
  const { organization_id: organization } = await operator(place, 'organizations', 'create', '--name', name);
  const at = ['--organization', organization];
  const { domain_id: domain } = await operator(place, 'domains', 'create', ...at, '--name', name);
  const limits = ['--permissions', 'admin', '--send', '1000000', '--read', '1000000'];
  const { key } = await operator(place, 'keys', 'create', ...at, '--domain', domain, ...limits);
  const api = apiClient(baseUrl, key);
  expect((await api.call('PUT', '/v1/billing/plan', { plan: 'soft' })).status).toBe(200);
  await sendAsSoonAs(() => sendFrom(api, name, 80));
  await eventually(
    () => warningsOf(api),
    (warnings) => warnings.length > 0,
    30_000,
  );
};

/** A service that captures mail, and an organization with a contact, a webhook and a plan of 100 recipients. */
const openWith = async (plan: 'soft' | 'hard'): Promise<Open> => {
  const place = await placeForTest();
  const plansFile = join(place.dataDir, 'plans.json');
  await writeFile(plansFile, JSON.stringify(PLANS));
  const { baseUrl } = await programForTest({ ...place, env: { ...place.env, PLANS_FILE: plansFile } });
  const api = apiClient(baseUrl, await unlimitedKey(place));
  const receiver = closedAfterTest(await startWebhookReceiver());
  await api.patch('/v1/organization', { contact: CONTACT });
  expect((await api.post('/v1/webhooks', { url: receiver.url, events: ['billing.*'] })).status).toBe(201);
  expect((await api.call('PUT', '/v1/billing/plan', { plan })).status).toBe(200);
  return { api, posts: receiver.posts, quotasChecked: () => reachWarning(place, baseUrl) };
};

const used = async ({ api }: Open): Promise<number> => (await api.get('/v1/billing')).body.usage.billable_recipients;

const posted = ({ posts }: Open): readonly string[] => posts.map(({ body }) => JSON.parse(body).type).toSorted();

const mailed = async ({ api }: Open): Promise<readonly string[]> =>
  (await api.get(`/v1/inbox?to=${CONTACT}`)).body.data.map(({ subject }: { subject: string }) => subject).toSorted();

const WARNINGS = ['billing.quota_warning', 'billing.quota_exceeded'];
const SUBJECTS = ['Your organization has used 80 % of its quota', 'Your organization has used all of its quota'];

const expectWarnedOnce = async (open: Open): Promise<void> => {
  await eventually(
    () => mailed(open),
    (subjects) => subjects.length >= WARNINGS.length,
    30_000,
  );
  await eventually(
    async () => posted(open),
    (types) => types.length >= WARNINGS.length,
  );
  await open.quotasChecked();
  expect(await warningsIn(open)).toEqual(WARNINGS);
  expect(posted(open)).toEqual(WARNINGS.toSorted());
  expect(await mailed(open)).toEqual(SUBJECTS.toSorted());
};

describe('an organization at 70 % of its quota', () => {
  test('is warned of 80 % and of 100 % once each, by event, webhook and mail, when two batches take it to 130 %', async () => {
    const open = await openWith('soft');
    await sendAsSoonAs(() => sendTo(open, 70));
    await open.quotasChecked();
    expect(await warningsIn(open)).toEqual([]);
    const answers = await Promise.all([sendTo(open, 30, 'a'), sendTo(open, 30, 'b')]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    await expectWarnedOnce(open);
    expect(await used(open)).toBe(130);
  });

  test('is warned of both by one batch that takes it to 130 %', async () => {
    const open = await openWith('soft');
    await sendAsSoonAs(() => sendTo(open, 70));
    expect((await sendTo(open, 60)).status).toBe(202);
    await expectWarnedOnce(open);
    expect(await used(open)).toBe(130);
  });
});

describe('an organization with a hard limit', () => {
  test('has a batch above it refused whole, and one of two batches that fit only separately', async () => {
    const open = await openWith('hard');
    await sendAsSoonAs(() => sendTo(open, 70));
    const refused = await sendTo(open, 60);
    expect([refused.status, refused.body.error.code]).toEqual([422, 'quota_exceeded']);
    const both = await Promise.all([sendTo(open, 60, 'a'), sendTo(open, 60, 'b')]);
    expect(both.map(({ status }) => status)).toEqual([422, 422]);
    expect(await used(open)).toBe(70);

    const race = await Promise.all([sendTo(open, 20, 'c'), sendTo(open, 20, 'd')]);
    expect(race.map(({ status }) => status).toSorted()).toEqual([202, 422]);
    expect(await used(open)).toBe(90);
    const events = (await open.api.get('/v1/events?types=message.accepted&limit=100')).body.data as readonly AnyBody[];
    // The warning to the contact may have been accepted already.
    const data = events.filter((event) => event.data.recipient.address !== CONTACT);
    expect(data).toHaveLength(90);
    const addresses = JSON.stringify(data);
    expect(['c0-0@', 'd0-0@'].filter((address) => addresses.includes(address))).toHaveLength(1);
    expect((await sendTo(open, 10, 'e')).status).toBe(202);
    expect((await sendTo(open, 10, 'f')).body.error.code).toBe('quota_exceeded');
  });
});
