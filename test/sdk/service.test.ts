import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ConflictError,
  createOutbox,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  type Outbox,
  responseOf,
  type StreamedEvent,
  UnauthorizedError,
} from '../../sdk/src/index.ts';
import { type DatabaseService, startDatabaseService } from '../http/support/database-service.ts';
import { failureOf } from './scripted-server.ts';

let service: DatabaseService;
let baseUrl: string;
let outbox: Outbox;
let sender: Outbox;

const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };

beforeAll(async () => {
  service = await startDatabaseService();
  baseUrl = await service.server.listen({ port: 0, host: '127.0.0.1' });
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  outbox = createOutbox({ baseUrl: `${baseUrl}/`, apiKey: (await service.makeKey(organizationId, domainId)).value });
  const only = await service.makeKey(organizationId, domainId, { permissions: ['send'] });
  sender = createOutbox({ baseUrl, apiKey: only.value });
});
afterAll(() => service.close());

describe('a client', () => {
  test('can identify its key, even with permission to send only', async () => {
    const [admin, only] = await Promise.all([outbox.session.get(), sender.session.get()]);
    expect([admin.permissions, only.permissions]).toEqual([['admin'], ['send']]);
    expect(only).toMatchObject({ api_key_id: expect.stringMatching(/^key_/), environment: 'live', member: null });
  });

  test('sends, reads, and sends nothing twice with one key', async () => {
    const sent = await outbox.messages.send(MAIL, { idempotencyKey: 'once' });
    const again = await outbox.messages.send(MAIL, { idempotencyKey: 'once' });
    expect(again).toEqual(sent);
    expect(responseOf(again)?.headers.get('idempotent-replayed')).toBe('true');
    const message = await outbox.messages.get(sent.id);
    expect(message).toMatchObject({ id: sent.id, status: 'accepted', recipients: [{ address: 'b@example.org' }] });
    expect((await outbox.messages.getContent(sent.id)).text).toBe('x');
    expect(await (await outbox.messages.getRaw(sent.id)).text()).toContain('Subject: x');
    expect((await outbox.stats.get()).totals.accepted).toBeGreaterThan(0);
  });

  test('sends a batch, and gets an error for each invalid message', async () => {
    const { accepted, data } = await outbox.messages.sendBatch({
      mode: 'partial',
      messages: [MAIL, { ...MAIL, to: 'nowhere' }],
    });
    expect(accepted).toBe(1);
    expect(data.map(({ status }) => status)).toEqual(['accepted', 'refused']);
  });

  test('reads a list page by page, or all of it', async () => {
    await outbox.messages.sendBatch({
      messages: Array.from({ length: 7 }, () => ({ ...MAIL, to: 'pages@example.org' })),
    });
    const query = { to: 'pages@example.org', limit: 3 };
    const page = await outbox.messages.list(query);
    expect(page).toMatchObject({ object: 'list', has_more: true });
    expect(page.data).toHaveLength(3);
    const ids = new Set<string>();
    for await (const { id } of outbox.messages.list(query)) ids.add(id);
    expect(ids.size).toBe(7);
    const lengths: number[] = [];
    for await (const { data } of outbox.messages.list(query).pages()) lengths.push(data.length);
    expect(lengths).toEqual([3, 3, 1]);
  });

  test('changes what it has seen, and not a newer version', async () => {
    const topic = await outbox.topics.create({ name: 'News', default: 'in' });
    const ifMatch = responseOf(await outbox.topics.get(topic.id))?.headers.get('etag') ?? undefined;
    await outbox.topics.update(topic.id, { name: 'Newer' }, { ifMatch });
    expect(await failureOf(outbox.topics.update(topic.id, { name: 'Stale' }, { ifMatch }))).toBeInstanceOf(
      ConflictError,
    );
    expect((await outbox.topics.get(topic.id)).name).toBe('Newer');
    expect(await outbox.topics.delete(topic.id)).toBeUndefined();
  });

  test('applies the same template change twice with the same result, as a retry does', async () => {
    const { id } = await outbox.templates.create({ alias: 'twice', name: 'Twice', subject: 'x', html: '<p>x</p>' });
    const change = { subject: 'Hello', html: '<p>Hello</p>' };
    await outbox.templates.change(id, change);
    const once = await outbox.templates.listVersions(id);
    await outbox.templates.change(id, change);
    expect((await outbox.templates.listVersions(id)).data).toEqual(once.data);
  });

  test('distinguishes errors', async () => {
    const wrong = createOutbox({ baseUrl, apiKey: 'ob_live_wrong' });
    expect(await failureOf(wrong.messages.send(MAIL))).toBeInstanceOf(UnauthorizedError);
    expect(await failureOf(sender.messages.list())).toBeInstanceOf(ForbiddenError);
    expect(await failureOf(outbox.messages.get('msg_nothing'))).toBeInstanceOf(NotFoundError);
    const invalid = await failureOf(outbox.messages.send({ ...MAIL, to: [] }));
    expect(invalid).toBeInstanceOf(InvalidRequestError);
    expect(invalid).toMatchObject({ code: 'invalid_request', details: { to: [expect.any(String)] } });
    expect((invalid as InvalidRequestError).requestId).toMatch(/^req_/);
  });

  test('renders a React element', async () => {
    // A typed import would replace the browser's types in other tests.
    const { createElement } = createRequire(import.meta.url)('react');
    const react = createElement('p', null, 'Hello <you>');
    const { id } = await outbox.messages.send({ from: MAIL.from, to: MAIL.to, subject: 'x', react });
    expect((await outbox.messages.getContent(id)).html).toBe('<!DOCTYPE html><p>Hello &lt;you&gt;</p>');
  });
});

describe('attachments', () => {
  // Not a multiple of 3, and larger than a chunk.
  const BYTES = Uint8Array.from({ length: 200_001 }, (_, index) => (index * 7) % 256);
  const base64 = Buffer.from(BYTES).toString('base64');
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-sdk-'));
    await writeFile(join(folder, 'report.bin'), BYTES);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('of every kind arrive unchanged', async () => {
    const file = await openAsBlob(join(folder, 'report.bin'));
    const contents = [base64, BYTES, BYTES.buffer, file, new Blob([])];
    const { id } = await outbox.messages.send({
      ...MAIL,
      attachments: contents.map((content, index) => ({ filename: `${index}.bin`, content })),
    });
    const raw = await (await outbox.messages.getRaw(id)).text();
    const lines = base64.replaceAll(/.{76}/g, '$&\r\n');
    expect(raw.split(lines)).toHaveLength(5);
    expect(raw).toContain('filename=4.bin');
  });
});

describe('an event stream', () => {
  const subjectOf = ({ event }: StreamedEvent): string | undefined =>
    'metadata' in event.data ? event.data.metadata?.n : undefined;
  const send = (n: number) => outbox.messages.send({ ...MAIL, metadata: { n: `${n}` } });

  test('continues over interruptions without a gap, and resumes from a cursor', async () => {
    const controller = new AbortController();
    const seen: StreamedEvent[] = [];
    const streaming = (async () => {
      for await (const one of outbox.events.stream({ types: ['message.accepted'] }, { signal: controller.signal })) {
        seen.push(one);
      }
    })();
    await expect.poll(() => service.deps.liveFeed.size(), { timeout: 10_000 }).toBe(1);
    await send(0);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(1);
    service.server.server.closeAllConnections();
    for (let n = 1; n < 4; n++) await send(n);
    await expect.poll(() => seen.map(subjectOf), { timeout: 10_000 }).toEqual(['0', '1', '2', '3']);
    controller.abort(new Error('enough'));
    await expect(streaming).rejects.toThrow('enough');

    const resumed: StreamedEvent[] = [];
    for await (const one of outbox.events.stream({ after: seen[1]?.cursor, types: 'message.accepted' })) {
      if (resumed.push(one) === 2) break;
    }
    expect(resumed).toEqual(seen.slice(2));
    await expect.poll(() => service.deps.liveFeed.size(), { timeout: 10_000 }).toBe(0);
  });

  test('ends when waiting does not help', async () => {
    await expect(sender.events.stream().next()).rejects.toThrow(ForbiddenError);
    await expect(outbox.events.stream({ after: 'no cursor' }).next()).rejects.toThrow(InvalidRequestError);
  });
});
