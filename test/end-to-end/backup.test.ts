import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { doctor, type OperatorOptions, operator, unlimitedKey } from '../support/operator.ts';
import { folderForTest, placeForTest, programForTest, SECRET_KEY } from '../support/place-for-test.ts';
import type { Program } from '../support/program.ts';

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Before the backup', text: 'Hello' };
/** Longer than a restore and a start on a slow machine. */
const SCHEDULED_IN_MS = 60_000;

const start = async (place: OperatorOptions, roles = 'api,projections,workers'): Promise<Program> => {
  return programForTest({ ...place, env: { ...place.env, ROLES: roles } });
};

const send = (api: ApiClient, name: string, message: object = MESSAGE) =>
  api.post('/v1/messages/send', message, { 'idempotency-key': name });

const subjects = async (api: ApiClient): Promise<readonly string[]> =>
  (await api.get('/v1/inbox?limit=100')).body.data.map((mail: { readonly subject: string }) => mail.subject);

/** Sends messages until it is stopped. */
const traffic = (api: ApiClient) => {
  let stopped = false;
  const running = (async () => {
    let accepted = 0;
    for (; !stopped; accepted += 1) expect((await send(api, `traffic-${accepted}`)).status).toBe(202);
    return accepted;
  })();
  return {
    stop: () => {
      stopped = true;
      return running;
    },
  };
};

const refusal = async (place: OperatorOptions, ...words: readonly string[]): Promise<string> => {
  const outcome = await operator(place, ...words).catch((error: { readonly stderr: string }) => error.stderr);
  expect(outcome).toBeTypeOf('string');
  return outcome;
};

/** Ways to damage a copy of a backup, by the reported error. */
const DAMAGE: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  'is damaged (vault.contents.copy.zst': async (path) => truncate(join(path, 'vault.contents.copy.zst'), 20),
  'is damaged (vault.secrets.copy.zst': async (path) => {
    const file = join(path, 'vault.secrets.copy.zst');
    const bytes = await readFile(file);
    bytes[30] = (bytes[30] ?? 0) ^ 1;
    await writeFile(file, bytes);
  },
  'vault.key_usage.copy.zst is missing': async (path) => rm(join(path, 'vault.key_usage.copy.zst')),
  'is not a complete backup': async (path) => rm(join(path, 'manifest.json')),
};

/** Subjects of all messages. The traffic may have filled many pages. */
const allSubjects = async (api: ApiClient): Promise<ReadonlySet<string>> => {
  const found = new Set<string>();
  for (let after = ''; ; ) {
    const { body } = await api.get(`/v1/messages?limit=100${after}`);
    for (const { subject } of body.data as readonly { readonly subject: string }[]) found.add(subject);
    if (!body.has_more) return found;
    after = `&after=${body.next_cursor}`;
  }
};

describe('a backup of a busy service', () => {
  test('is rejected when damaged, and restores everything but holds old mail until it is released', async () => {
    const place = await placeForTest();
    const first = await start(place, 'api,projections');
    const key = await unlimitedKey(place);
    const api = apiClient(first.baseUrl, key);
    const original = await send(api, 'once');
    const dueAt = new Date(Date.now() + SCHEDULED_IN_MS).toISOString();
    await send(api, 'schedule', { ...MESSAGE, subject: 'Scheduled', scheduled_at: dueAt });

    const busy = traffic(api);
    const backup = join(await folderForTest(), 'backup');
    const taken = await operator(place, 'backup', backup);
    expect(await busy.stop()).toBeGreaterThan(0);
    expect(await refusal(place, 'backup', backup)).toContain('it already exists');
    const files = await readdir(backup);
    expect(files).toContain('manifest.json');
    expect(taken).toMatchObject({ position: expect.stringMatching(/^\d{16}$/), log_id: expect.any(String) });

    // A restore into another version of PostgreSQL.
    const target = { dataDir: await folderForTest(), env: { SECRET_KEY } };
    expect(await refusal(place, 'restore', backup)).toContain('a service is running');
    await first.end('SIGTERM');
    expect(await refusal(place, 'restore', backup)).toContain('is not empty');

    const restored = await operator(target, 'restore', backup);
    expect(restored).toMatchObject({ rows: taken.rows, position: taken.position, log_id: taken.log_id });
    expect(await refusal(target, 'restore', backup)).toContain('is not empty');

    const again = await start(target);
    const after = apiClient(again.baseUrl, key);
    const replay = await send(after, 'once');
    expect([replay.body.id, replay.headers.get('idempotent-replayed')]).toEqual([original.body.id, 'true']);
    await send(after, 'new', { ...MESSAGE, subject: 'After the restore' });
    const arrived = await eventually(
      () => subjects(after),
      (found) => found.includes('After the restore') && found.includes('Scheduled'),
      SCHEDULED_IN_MS + 20_000,
    );
    expect([...arrived].sort()).toEqual(['After the restore', 'Scheduled']);
    const { problems } = await doctor(target);
    expect(problems.join()).toContain('restore --release');

    expect(await operator(target, 'restore', '--release')).toMatchObject({ released: true });
    await eventually(
      async () => (await after.get(`/v1/messages/${original.body.id}`)).body.status,
      (status) => status === 'delivered',
      90_000,
    );
    expect(await operator(target, 'restore', '--release')).toMatchObject({ released: false });
    // An accepted message is in the backup with its contents, or not at all.
    expect(await allSubjects(after)).toEqual(new Set([MESSAGE.subject, 'Scheduled', 'After the restore']));

    const empty = { dataDir: await folderForTest(), env: { SECRET_KEY } };
    for (const [told, damage] of Object.entries(DAMAGE)) {
      const damaged = join(await folderForTest(), 'damaged');
      await cp(backup, damaged, { recursive: true });
      await damage(damaged);
      expect(await refusal(empty, 'restore', damaged)).toContain(told);
    }
    const otherKey = { ...empty, env: { SECRET_KEY: 'another secret key that is as long' } };
    expect(await refusal(otherKey, 'restore', backup)).toContain('different SECRET_KEY');
  }, 240_000);

  test('without a log in EventStoreDB contains only the vault, and restores together with that log', async () => {
    const eventStore = await startEventStoreDbDouble();
    onTestFinished(eventStore.close);
    const engine = { EVENTSTORE_URL: eventStore.url };
    const place = await placeForTest(engine);
    const first = await start(place);
    const key = await unlimitedKey(place);
    const original = await send(apiClient(first.baseUrl, key), 'once');
    const backup = join(await folderForTest(), 'backup');
    const taken = await operator(place, 'backup', backup, '--without-log');
    expect(taken.next).toContain('EventStoreDB');
    expect((await readdir(backup)).some((file) => file.startsWith('event_log'))).toBe(false);
    await first.end('SIGTERM');

    const target = await placeForTest(engine);
    const without = { ...target, env: { ...target.env, EVENTSTORE_URL: '' } };
    expect(await refusal(without, 'restore', backup)).toContain('Set EVENTSTORE_URL');
    expect((await operator(target, 'restore', backup)).log_id).toBe(taken.log_id);
    const after = apiClient((await start(target)).baseUrl, key);
    const replay = await send(after, 'once');
    expect([replay.body.id, replay.headers.get('idempotent-replayed')]).toEqual([original.body.id, 'true']);
  });

  test('of a log in EventStoreDB restores both engines, and adds only later events to an earlier backup', async () => {
    const [one, other] = [await startEventStoreDbDouble(), await startEventStoreDbDouble()];
    onTestFinished(one.close);
    onTestFinished(other.close);
    const place = await placeForTest({ EVENTSTORE_URL: one.url });
    const first = await start(place);
    const key = await unlimitedKey(place);
    const api = apiClient(first.baseUrl, key);
    const original = await send(api, 'once');
    const folder = await folderForTest();
    const [before, backup] = [join(folder, 'before'), join(folder, 'backup')];
    await operator(place, 'backup', before);
    const busy = traffic(api);
    const taken = await operator(place, 'backup', backup, '--after', before);
    const accepted = await busy.stop();
    await first.end('SIGTERM');
    const logFiles = (await readdir(backup)).filter((file) => file.startsWith('event_log'));
    expect(logFiles).toEqual(['event_log.0001.ndjson.zst', 'event_log.0002.ndjson.zst']);

    const target = await placeForTest({ EVENTSTORE_URL: other.url });
    const damaged = join(folder, 'damaged');
    await cp(backup, damaged, { recursive: true });
    await truncate(join(damaged, logFiles[1] ?? ''), 20);
    expect(await refusal(target, 'restore', damaged)).toContain('is damaged (event_log.0002.ndjson.zst');
    expect((await operator(target, 'restore', backup)).log_id).not.toBe(taken.log_id);
    const restarted = await start(target);
    const after = apiClient(restarted.baseUrl, key);
    const replay = await send(after, 'once');
    expect([replay.body.id, replay.headers.get('idempotent-replayed')]).toEqual([original.body.id, 'true']);
    // Messages of the traffic are in the restored log with their contents, or not at all.
    const last = await eventually(
      () => after.get('/v1/messages?limit=1'),
      ({ status }) => status === 200,
    );
    expect(last.body.data).toHaveLength(1);
    expect(accepted).toBeGreaterThan(0);
    const { problems } = await doctor(target);
    expect(problems.join()).not.toContain('contents');
  }, 240_000);
});
