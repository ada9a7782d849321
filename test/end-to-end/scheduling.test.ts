import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/** The sweeper finds a due message within a second. A busy machine takes longer to send it. */
const LATE_MS_MAX = 10_000;
const HOUR_MS = 3_600_000;

let data: Awaited<ReturnType<typeof newDataDir>>;
let program: Program;
let key: string;
let api: ApiClient;

beforeAll(async () => {
  data = await newDataDir();
  program = await startProgram({ dataDir: data.path });
  key = await unlimitedKey({ dataDir: data.path });
  api = apiClient(program.baseUrl, key);
});
afterAll(async () => {
  await program.end('SIGTERM');
  await data.remove();
});

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

const schedule = async (subject: string, scheduledAt: string): Promise<string> => {
  const { status, body } = await api.post('/v1/messages/send', {
    from: 'Shop <shop@example.test>',
    to: 'ann@example.net',
    subject,
    text: 'Hello',
    scheduled_at: scheduledAt,
  });
  expect([status, body.status, body.scheduled_at]).toEqual([202, 'scheduled', scheduledAt]);
  return body.id;
};

/** Time at which the mail server received it, or null. */
const receivedAt = async (subject: string): Promise<string | null> => {
  const { body } = await api.get('/v1/inbox?limit=100');
  const found = body.data.filter((mail: { readonly subject: string }) => mail.subject === subject);
  expect(found.length).toBeLessThan(2);
  return found[0]?.received_at ?? null;
};

/** Waits for a message, and asserts that it arrived on time. */
const arrivesOnTime = async (subject: string, dueAt: string): Promise<void> => {
  const waitMs = Math.max(0, Date.parse(dueAt) - Date.now()) + 2 * LATE_MS_MAX;
  const arrived = await eventually(
    () => receivedAt(subject),
    (at) => at !== null,
    waitMs,
  );
  const lateMs = Date.parse(arrived ?? '') - Date.parse(dueAt);
  expect(lateMs).toBeGreaterThanOrEqual(0);
  expect(lateMs).toBeLessThan(LATE_MS_MAX);
};

const statusOf = async (id: string): Promise<string> => (await api.get(`/v1/messages/${id}`)).body.status;

describe('a message with scheduled_at', () => {
  test('is delivered at its time, not before and hardly after', async () => {
    const dueAt = inMs(3000);
    const id = await schedule('On time', dueAt);
    await arrivesOnTime('On time', dueAt);
    await eventually(
      () => statusOf(id),
      (status) => status === 'delivered',
    );
  });

  test('never arrives once cancelled, and the feed and the statistics say so', async () => {
    const dueAt = inMs(2000);
    const id = await schedule('Cancelled', dueAt);
    const cancelled = await api.post(`/v1/messages/${id}/cancel`);
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelled']);
    // Both would be due in the same sweep.
    await schedule('Due at the same time', dueAt);
    await arrivesOnTime('Due at the same time', dueAt);
    expect(await receivedAt('Cancelled')).toBeNull();
    expect(await statusOf(id)).toBe('cancelled');
    const { body: events } = await api.get(`/v1/messages/${id}/events`);
    const types = events.data.map(({ type }: { readonly type: string }) => type);
    expect(types.toSorted()).toEqual(['message.accepted', 'message.cancelled', 'message.scheduled']);
    const { body: feed } = await api.get('/v1/events?types=message.cancelled');
    expect(feed.data).toMatchObject([{ type: 'message.cancelled', data: { message_id: id } }]);
    expect((await api.get('/v1/stats')).body.totals.cancelled).toBe(1);
    expect((await api.post(`/v1/messages/${id}/cancel`)).status).toBe(200);
  });

  test('arrives earlier when it is rescheduled to an earlier time', async () => {
    const id = await schedule('Sooner', inMs(HOUR_MS));
    const dueAt = inMs(1500);
    const moved = await api.patch(`/v1/messages/${id}`, { scheduled_at: dueAt });
    expect([moved.status, moved.body.scheduled_at]).toEqual([200, dueAt]);
    await arrivesOnTime('Sooner', dueAt);
  });

  test('from a domain that was deleted in the meantime is cancelled at its time, with the reason', async () => {
    const { body: domain } = await api.post('/v1/domains', { name: 'second.test' });
    const { body: made } = await api.post('/v1/api-keys', {
      name: 'second',
      domain_id: domain.id,
      permissions: ['send'],
    });
    const mail = { from: 'a@second.test', to: 'ann@example.net', subject: 'Orphan', text: 'Hello' };
    const sender = apiClient(program.baseUrl, made.key);
    const { body: sent } = await sender.post('/v1/messages/send', { ...mail, scheduled_at: inMs(3000) });
    expect(sent.status).toBe('scheduled');
    expect((await api.delete(`/v1/domains/${domain.id}`)).status).toBe(204);
    const ended = await eventually(
      async () => (await api.get(`/v1/messages/${sent.id}`)).body,
      ({ status }) => status !== 'scheduled',
    );
    expect(ended).toMatchObject({
      status: 'cancelled',
      attempts: 0,
      recipients: [{ status: 'cancelled', reason: 'the sending domain was deleted' }],
    });
    expect(await receivedAt('Orphan')).toBeNull();
  });

  test('arrives on time, once, even if the service was killed before', async () => {
    const dueAt = inMs(15_000);
    const id = await schedule('Survivor', dueAt);
    const later = await schedule('Later', inMs(HOUR_MS));
    await program.end('SIGKILL');
    program = await startProgram({ dataDir: data.path });
    api = apiClient(program.baseUrl, key);
    expect(Date.now()).toBeLessThan(Date.parse(dueAt)); // otherwise the test proves nothing
    expect(await statusOf(id)).toBe('scheduled');
    await arrivesOnTime('Survivor', dueAt);
    expect([await statusOf(later), await receivedAt('Later')]).toEqual(['scheduled', null]);
  });
});
