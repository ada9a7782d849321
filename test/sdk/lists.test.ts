import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type ApiError, createOutbox, type Outbox } from '../../sdk/src/index.ts';
import { failureOf, json, refusal, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
let outbox: Outbox;
beforeAll(async () => {
  server = await startScriptedServer();
  outbox = createOutbox({ apiKey: 'ob_test_x', baseUrl: server.url });
});
afterAll(() => server.close());

describe('a list', () => {
  const page = (next: string | null) =>
    json(200, { object: 'list', data: [{ id: `after ${next}` }], has_more: next !== null, next_cursor: next });

  test('makes one request however often it is awaited, and not before', async () => {
    server.script(page('c1'));
    const list = outbox.messages.list();
    expect(server.asked).toHaveLength(0);
    expect(await list).toBe(await list);
    let ended = false;
    await list.finally(() => {
      ended = true;
    });
    expect([ended, server.asked.length]).toEqual([true, 1]);
    server.script(refusal(403, 'permission_missing'));
    expect(await outbox.messages.list().catch(({ status }: ApiError) => status)).toBe(403);
  });

  test('requests each page when it is reached, and retries in the middle', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    server.script(page('c1'), refusal(500, 'internal_error'), page('c2'), page(null));
    const ids: string[] = [];
    for await (const { id } of outbox.messages.list({ limit: 1 })) {
      ids.push(id);
      if (ids.length === 1) expect(server.asked).toHaveLength(1);
    }
    expect(ids).toEqual(['after c1', 'after c2', 'after null']);
    expect(server.asked.map(({ url }) => url)).toEqual([
      '/v1/messages?limit=1',
      '/v1/messages?limit=1&after=c1',
      '/v1/messages?limit=1&after=c1',
      '/v1/messages?limit=1&after=c2',
    ]);
    server.script(page('c1'), page('c2'));
    for await (const _ of outbox.messages.list()) break;
    expect(server.asked).toHaveLength(1);
  });

  test('ends if its pages do not advance', async () => {
    server.script(page('c1'));
    const all = (async () => {
      for await (const _ of outbox.messages.list());
    })();
    expect((await failureOf(all)).message).toContain('two pages have the same next_cursor');
    expect(server.asked).toHaveLength(2);
  });
});
