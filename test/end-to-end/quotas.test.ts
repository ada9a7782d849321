import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { closedAfterTest } from '../support/after-test.ts';
import { type AnyBody, type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const QUOTA = 100;
const CONTACT = 'accounts@example.org';
/** Long enough for two checks of the quotas. */
const TWO_LOOKS_MS = 11_000;
const ONE_LOOK_MS = 6_000;

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
}

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
  await sleep(1_000); // the key cache picks up the plan
  return { api, posts: receiver.posts };
};

const MESSAGE = { from: 'shop@example.test', subject: 'Hello', text: 'Hello' };
const RECIPIENTS = 10;

/** Sends a strict batch of messages with ten recipients each. */
const sendTo = ({ api }: Open, recipients: number, prefix = 'r') =>
  api.post('/v1/messages/batch', {
    messages: Array.from({ length: recipients / RECIPIENTS }, (_, message) => ({
      ...MESSAGE,
      to: Array.from({ length: RECIPIENTS }, (__, number) => `${prefix}${message}-${number}@example.net`),
    })),
  });

const used = async ({ api }: Open): Promise<number> => (await api.get('/v1/billing')).body.usage.billable_recipients;

const warningsIn = async ({ api }: Open): Promise<readonly string[]> =>
  (await api.get('/v1/events?types=billing.*&limit=100')).body.data.map(({ type }: { type: string }) => type);

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
  await sleep(TWO_LOOKS_MS);
  expect(await warningsIn(open)).toEqual(WARNINGS);
  expect(posted(open)).toEqual(WARNINGS.toSorted());
  expect(await mailed(open)).toEqual(SUBJECTS.toSorted());
};

describe('an organization at 70 % of its quota', () => {
  test('is warned of 80 % and of 100 % once each, by event, webhook and mail, when two batches take it to 130 %', async () => {
    const open = await openWith('soft');
    expect((await sendTo(open, 70)).status).toBe(202);
    await sleep(ONE_LOOK_MS);
    expect(await warningsIn(open)).toEqual([]);
    const answers = await Promise.all([sendTo(open, 30, 'a'), sendTo(open, 30, 'b')]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    await expectWarnedOnce(open);
    expect(await used(open)).toBe(130);
  });

  test('is warned of both by one batch that takes it to 130 %', async () => {
    const open = await openWith('soft');
    for (const recipients of [70, 60]) expect((await sendTo(open, recipients)).status).toBe(202);
    await expectWarnedOnce(open);
    expect(await used(open)).toBe(130);
  });
});

describe('an organization with a hard limit', () => {
  test('has a batch above it refused whole, and one of two batches that fit only separately', async () => {
    const open = await openWith('hard');
    expect((await sendTo(open, 70)).status).toBe(202);
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
